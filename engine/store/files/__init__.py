"""Run tables as files: reading of uploads in every supported format, and exports."""
