"""The state of a run on screen, without Textual."""
