"""Sources that read plain files with settings, logs and results. Each source is one module."""
