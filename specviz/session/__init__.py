"""The worker thread, and what is written while it runs."""
