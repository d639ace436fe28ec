"""Cost of training: compute rules (C from N and D, and D from C and N) and memory. All functions are pure.

C is in FLOPs, N in parameters, D in samples (tokens, jets, events), memory in bytes.
"""

from isoplan.engine.costs.forms import TwoPart, increasing_root
from isoplan.engine.costs.rule import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule, compute_rule, read_rule

__all__ = [
    "FEWEST_SAMPLES",
    "MOST_SAMPLES",
    "ComputeRule",
    "TwoPart",
    "compute_rule",
    "increasing_root",
    "read_rule",
]
