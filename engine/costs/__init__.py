"""What training costs: compute rules (C from N and D, and back) and memory. Pure functions.

Unit of C is FLOPs, of N parameters, of D samples (tokens, jets, events), of memory bytes.
"""

from engine.costs.forms import increasing_root
from engine.costs.rule import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule, compute_rule, read_rule
from engine.costs.two_part import TwoPart

__all__ = [
    "FEWEST_SAMPLES",
    "MOST_SAMPLES",
    "ComputeRule",
    "TwoPart",
    "compute_rule",
    "increasing_root",
    "read_rule",
]
