"""The lab screens, and the lab as an app of its own."""
