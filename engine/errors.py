"""Errors that the user can correct."""


class PlannerError(Exception):
    """A problem that the user can fix.

    ``str(error)`` is a message that names the column, row, field or option and the action to take. Pages show it
    unchanged. The terminal prints it to standard error and exits with code 2.
    """


class UndeterminedLawError(PlannerError):
    """Too few runs, or too few different values of an axis, for a fit of a law. More runs would determine the law."""
