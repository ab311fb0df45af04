"""The metrics screen and its four tabs."""
