"""Simulated run tables and the seeded script that writes them."""
