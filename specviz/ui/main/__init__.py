"""The main screen and its widgets."""
