"""Surrogates of squared amplitudes: MLPs on invariants and LLoCa-Transformers, their size, training and test.

H. Bahl, V. Bresó-Pla, A. Butter, J. Iturriza Ramirez, "Scaling laws for amplitude surrogates"; equation numbers refer
to this paper. Only ``mlp``, ``lloca_model``, ``trainer`` and ``training`` import PyTorch.
"""
