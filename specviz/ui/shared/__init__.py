"""Keys, options and timers that every screen uses."""
