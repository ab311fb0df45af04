"""Events to JSON Lines and back; rounds read back from disk."""
