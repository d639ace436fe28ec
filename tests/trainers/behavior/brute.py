"""The metrics of Appendix A of the behavioural paper, computed with loops over every order of tied candidates."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np


def query(scores: list[float], target: int, k: int) -> dict[str, float]:
    """Return the metrics of one query, averaged over all orders of its tied candidates."""
    weights = [math.exp(s - max(scores)) for s in scores]
    p = [w / math.fsum(weights) for w in weights]
    found = {
        "loss": max(scores) - scores[target] + math.log(math.fsum(weights)),
        "entropy": -math.fsum(x * math.log(x) for x in p if x),
    }
    tied = [j for j, s in enumerate(scores) if s == scores[target]]
    above = sum(s > scores[target] for s in scores)
    orders = list(permutations(tied)) if len(tied) < 6 else [tied[i:] + tied[:i] for i in range(len(tied))]
    ranks = [above + 1 + order.index(target) for order in orders]
    found[f"recall@{k}"] = sum(r <= k for r in ranks) / len(ranks)
    found[f"NDCG@{k}"] = math.fsum((r <= k) / math.log2(r + 1) for r in ranks) / len(ranks)
    found[f"MRR@{k}"] = math.fsum((r <= k) / r for r in ranks) / len(ranks)
    return found


def best(scores: list[float], items: list[int], k: int) -> list[int]:
    """Return the k items with the highest scores. Among equal scores, the smaller item number comes first."""
    return [item for _, item in sorted(zip([-s for s in scores], items, strict=True))[:k]]


def evaluate(batches: list[tuple[np.ndarray, np.ndarray, np.ndarray]], k: int) -> dict[str, float]:
    """Return all metrics at k over batches of scores (Q, C), target columns (Q,) and items of the columns (C,)."""
    rows, covered, shown, offered = [], [], set(), set()
    for scores, targets, items in batches:
        listed = [list(map(float, row)) for row in scores]
        rows += [query(row, int(t), k) for row, t in zip(listed, targets, strict=True)]
        tops = {item for row in listed for item in best(row, list(map(int, items)), k)}
        covered.append(len(tops) / len(items))
        shown |= tops
        offered |= set(map(int, items))
    found = {name: math.fsum(row[name] for row in rows) / len(rows) for name in rows[0]}
    found["perplexity"] = math.exp(found["loss"])
    found[f"coverage@{k}"] = sum(covered) / len(covered)
    found[f"global_coverage@{k}"] = len(shown) / len(offered)
    return found
