"""Surrogates of squared amplitudes: sizes, training and tests. A surrogate is an MLP or a LLoCa-Transformer.

Equations are numbered as in H. Bahl, V. Bresó-Pla, A. Butter, J. Iturriza Ramirez, "Scaling laws for amplitude
surrogates".
Only ``mlp``, ``lloca_model``, ``trainer`` and ``training`` import PyTorch.
"""
