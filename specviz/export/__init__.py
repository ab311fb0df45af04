"""A recorded run as a file."""
