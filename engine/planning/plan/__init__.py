"""Plans for a budget or a target: allocation, feasibility, metrics, costs, shadow prices, and plans as text and
JSON.
"""
