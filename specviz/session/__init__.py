"""The worker thread that runs a source, and the recording of its runs."""
