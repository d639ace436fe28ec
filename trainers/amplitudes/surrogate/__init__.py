"""Surrogates of squared amplitudes: MLPs on invariants and LLoCa-Transformers, how they are sized, trained, and judged.

H. Bahl, V. Bresó-Pla, A. Butter, J. Iturriza Ramirez, "Scaling laws for amplitude surrogates"; equations are theirs.
PyTorch is imported in ``model``, ``lloca.model``, ``losses``, ``trainer`` and ``training`` alone.
"""
