"""The exact speculative decoder; the only package that imports torch and transformers."""
