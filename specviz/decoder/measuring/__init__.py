"""Benchmark runs, and assisted generation of transformers."""
