"""Evaluation of a trained model: ranks, metrics, and baselines from counts."""
