"""What a user can put right."""


class PlannerError(Exception):
    """A problem that the user can fix.

    ``str(error)`` is one sentence that names the column, row, field or option and says what to do.
    Pages show it as it is; the terminal prints it on standard error and exits with code 2.
    """
