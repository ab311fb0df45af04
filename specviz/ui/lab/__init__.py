"""The lab screens, and the lab as a separate app."""
