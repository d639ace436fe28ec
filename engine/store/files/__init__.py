"""Run tables as files: reading uploads of every format, and exports."""
