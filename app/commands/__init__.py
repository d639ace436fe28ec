"""Terminal commands, one module each. `isoplan.app.cli` imports only the module of the command that runs."""
