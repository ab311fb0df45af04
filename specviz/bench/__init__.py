"""The plan and the numbers of a benchmark; no torch."""
