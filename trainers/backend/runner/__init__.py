"""The runner, a process that submits waiting cells to workers, and its start."""
