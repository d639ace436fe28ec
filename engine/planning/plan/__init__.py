"""Plans for a budget or a target.

The modules compute allocation, feasibility, metrics, costs and shadow prices, and write plans as text and JSON.
"""
