"""Events to numbers."""
