"""Runs of W&B: run folders, downloaded files, and projects on a server. The package wandb is not needed."""
