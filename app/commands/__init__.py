"""Terminal commands, one module each; `isoplan.app.cli` imports the one that is called."""
