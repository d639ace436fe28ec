"""Preparation for the solver: runs are checked and clustered, and training curves are smoothed."""
