"""specviz: see speculative decoding work, round by round, in the terminal."""

__version__ = "0.1.0"
