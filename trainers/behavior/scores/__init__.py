"""Scores of a trained model: ranks, metrics, counting baselines."""
