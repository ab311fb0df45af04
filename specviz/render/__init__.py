"""Rounds to words and cells; no Textual."""
