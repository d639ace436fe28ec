"""The terminal's commands, a module each; `isoplan.app.cli` imports the one that is called."""
