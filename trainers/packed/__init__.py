"""Transformers on sets and sequences of many lengths, packed with hardly any padding: what several families share."""
