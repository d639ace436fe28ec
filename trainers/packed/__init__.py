"""Transformers on sets and sequences of varying length, packed with little padding; used by several families."""
