"""The formula lab without a screen."""
