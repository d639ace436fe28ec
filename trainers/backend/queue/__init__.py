"""The cells of a workspace: the queue, sweeps, progress and caps."""
