"""Amplitude surrogates: squared matrix elements at tree level, where they are taken, and what learns them."""
