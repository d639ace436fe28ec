"""Transformers on sets and sequences of varying length, packed with little padding; shared by several families."""
