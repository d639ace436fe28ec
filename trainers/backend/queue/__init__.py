"""The cells of a workspace: the queue, sweeps, progress of sweeps, and their caps."""
