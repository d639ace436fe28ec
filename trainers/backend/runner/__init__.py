"""The process that gives waiting cells to workers, and how it is started."""
