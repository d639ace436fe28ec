"""Rounds of advice, training and fits, until an answer is known well enough."""
