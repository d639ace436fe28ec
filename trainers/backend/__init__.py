"""Backend of the trainers: the queue on disk, the runner, and the Dask cluster that runs cells."""
