"""The presentation."""
