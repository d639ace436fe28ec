"""The terminal's commands, a module each; `app.cli` imports the one that is called."""
