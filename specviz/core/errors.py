"""Errors that reach people as one or two plain sentences."""


class SpecvizError(Exception):
    """What cannot work, said in a sentence or two that name the thing and the way out.

    ``exit_code`` is the process's exit code where the error ends it: 2 for usage, configuration,
    or a model or file that cannot be used; 3 for a self-check that failed.
    """

    exit_code = 2
