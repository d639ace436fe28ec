"""Figures of amplitude surrogates."""
