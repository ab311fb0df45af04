"""Benchmark runs, and the assisted generation of transformers they are compared with."""
