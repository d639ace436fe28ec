"""Transformers on sets and sequences of varying length, which are packed into one batch with little padding."""
