"""A user's run table with known optima: an iso-FLOP sweep and a sweep of the number of negatives K in one file."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

N_STAR, K_STAR = 1e7, 3e4
"""Optimum of N at 1e18 FLOPs, and of K at every budget. The optimum of N grows as the square root of the budget."""
BUDGETS = (1e17, 3e17, 1e18, 3e18)
ISO, SWEPT, CONSTANT = 20, 10, 2


def mixed_csv(constant_k: str = "10000", noise: float = 1e-4) -> str:
    """Return a CSV of 32 runs at four budgets: 20 of an iso-FLOP sweep and 12 of a sweep of negatives K.

    The sweep of K has five values at each of the two small budgets, and one value at each of the two large ones.
    """
    rng = np.random.default_rng(0)
    lines = ["run,budget,non_emb_params,tokens,emb_share,neg_samples,recall_at_10,ndcg_10"]
    rows = []
    for C in BUDGETS:
        for factor in (0.1, 0.3, 1.0, 3.0, 10.0):
            rows.append((C, factor * N_STAR * (C / 1e18) ** 0.5 * 1.1, constant_k, 1e4))
    for C in BUDGETS[:2]:
        rows += [(C, 5e6, f"{K:g}", K) for K in (1e3, 1e4, 1e5, 1e6, 1e7)]
    rows += [(C, 5e6, "20000", 2e4) for C in BUDGETS[2:]]
    for i, (C, N, cell, K) in enumerate(rows):
        lost = 0.004 * np.log(N / (N_STAR * (C / 1e18) ** 0.5)) ** 2 + 0.003 * np.log(K / K_STAR) ** 2
        recall = 0.3 - lost + noise * rng.normal()
        lines.append(f"r{i},{C:g},{N:.8g},{C / 6 / N:.8g},0.05,{cell},{recall:.6f},{recall / 2:.6f}")
    return "\n".join(lines)


def units_csv() -> str:
    """Return the runs of ``mixed_csv`` with N in millions and D in billions."""
    frame = pd.read_csv(io.StringIO(mixed_csv()))
    sizes = {"Params (M)": frame.pop("non_emb_params") / 1e6, "Tokens (B)": frame.pop("tokens") / 1e9}
    return str(frame.assign(**sizes).to_csv(index=False))


def data_sets_csv(column: str = "corpus") -> str:
    """Return the runs of ``mixed_csv`` for two data sets, named in ``column``: games and books.

    For books the recall is 20 % lower, and the optimal K is 100 times larger.
    """
    games = pd.read_csv(io.StringIO(mixed_csv()))
    books = games.assign(
        recall_at_10=games.recall_at_10 * 0.8,
        neg_samples=games.neg_samples.where(games.non_emb_params != 5e6, games.neg_samples * 100),
    )
    both = [games.assign(**{column: "games"}), books.iloc[:31].assign(**{column: "books"})]
    return str(pd.concat(both).to_csv(index=False))
