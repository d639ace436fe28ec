"""`python -m isoplan.app`: the command line, for child processes that run a command."""

from isoplan.app.cli import main

if __name__ == "__main__":
    main()
