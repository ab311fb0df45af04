"""Errors that are shown to the user as one or two sentences."""


class SpecvizError(Exception):
    """A failure in one or two sentences that name its cause and a remedy. ``exit_code`` is the exit code of the process
    if the error ends it: 2 for usage, configuration, or a model or file that cannot be used; 3 for a failed
    self-check."""

    exit_code = 2
