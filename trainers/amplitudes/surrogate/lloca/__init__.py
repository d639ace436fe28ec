"""The LLoCa-Transformer on four-momenta, a token a particle, of the package ``lloca``.

J. Spinner, L. Favaro et al., "Lorentz Local Canonicalization" (arXiv:2505.20280, arXiv:2508.14898). PyTorch and
``lloca`` are imported in ``model`` alone.
"""
