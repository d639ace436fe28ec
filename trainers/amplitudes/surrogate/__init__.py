"""Size, training and test of the surrogates of squared amplitudes, which are MLPs and LLoCa-Transformers.

H. Bahl, V. Bresó-Pla, A. Butter, J. Iturriza Ramirez, "Scaling laws for amplitude surrogates"; equation numbers refer
to this paper. Only ``mlp``, ``lloca_model``, ``trainer`` and ``training`` import PyTorch.
"""
