"""Workers that run cells: on this machine, of an external Dask scheduler, or as batch jobs."""
