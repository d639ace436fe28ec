"""Evaluation of a model on held-out events, with batch-local candidates and with the whole catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isoplan.trainers.behavior.logs.popularity import draw_unseen
from isoplan.trainers.behavior.logs.split import Packed, Windows, pack
from isoplan.trainers.behavior.model.item_features import Groups, group_vectors
from isoplan.trainers.behavior.scores.metrics import (
    CUTOFFS,
    HISTORIES,
    HIT,
    NDCG,
    PLAIN,
    RIVALS_AT,
    TOP,
    Evaluation,
    Regime,
    evaluate,
)
from isoplan.trainers.behavior.scores.ranks import AT_ONCE, QUERIES, Ranked, join, level, rank_batch, rank_catalogue
from isoplan.trainers.behavior.training.cell_data import Data
from isoplan.trainers.behavior.training.trainer import Trainer
from isoplan.trainers.cell import RunContext, Stopped

SEQUENCES = 256
"""Number of sequences that the model reads together. The queries of a whole pool are in memory at the same time."""
LOOKED = 2_048
"""Approximate maximum number of events that are scored in each evaluation during training."""


def evaluate_model(trainer: Trainer, windows: Windows, regime: Regime, stream: RunContext) -> Evaluation:
    """Return the metrics of the model on the scored events of ``windows``.

    If ``regime`` is "local", the candidates are the unique targets of a pool of windows. If ``regime`` is "full", the
    candidates are all items. Raises Stopped if the training run must stop, and PlannerError if there is no event to
    score.
    """
    catalogue = trainer.embeddings()
    items, batches = trainer.data.log.items, _batches(trainer, catalogue, windows, stream)
    rank = _local if regime == "local" else _full
    ranked = rank(catalogue, _groups(catalogue), batches, items)
    return evaluate(ranked, len(catalogue), CUTOFFS, HISTORIES)


def score_among_negatives(trainer: Trainer, windows: Windows, rivals: int, stream: RunContext) -> dict[str, float]:
    """Return hit@10 and NDCG@10 of the true items, each ranked among random items that its user has never seen.

    ``rivals`` is the number of random items per true item, as in the evaluation of SASRec.
    """
    ranked = _beside(trainer, _batches(trainer, trainer.embeddings(), windows, stream), rivals)
    metrics = evaluate(ranked, trainer.data.facts.items, (RIVALS_AT,), ()).metrics
    return {HIT: metrics[f"recall@{RIVALS_AT}"], NDCG: metrics[f"NDCG@{RIVALS_AT}"]}


def check_sampled_negatives(data: Data, rivals: int) -> None:
    """Check, before training, that ``rivals`` unseen items are available for each scored user.

    Raises PlannerError otherwise.
    """
    if rivals:
        users = np.unique(data.log.owners[data.judged.first])
        draw_unseen(data.log, users[:1], rivals, seed=0)
        draw_unseen(data.log, users, 1, seed=0)


def sample_windows(windows: Windows, seed: int) -> Windows:
    """Return a random selection of ``windows`` with about ``LOOKED`` scored events, determined by ``seed``."""
    order = np.random.default_rng([seed, len(windows)]).permutation(len(windows))
    scored = (windows.stop - windows.scored)[order]
    chosen = np.sort(order[: max(int(np.searchsorted(np.cumsum(scored), LOOKED)), 1)])
    return Windows(windows.first[chosen], windows.scored[chosen], windows.stop[chosen], windows.length)


def shown(found: Evaluation) -> dict[str, float]:
    """Return the metrics that are reported during training.

    They are loss, perplexity, entropy, recall@10, NDCG@10 and MRR@10.
    """
    names = (*PLAIN, *(f"{name}@10" for name in ("recall", "NDCG", "MRR")))
    return {name: found.metrics[name] for name in names if name in found.metrics}


def _batches(
    trainer: Trainer, catalogue: Tensor, windows: Windows, stream: RunContext
) -> Iterator[tuple[Tensor, Packed]]:
    """Yield the queries (Q, h) of the scored positions of each pool of windows, with the packed windows."""
    items = trainer.data.log.items
    trainer.model.eval()
    try:
        for pool in np.array_split(np.arange(len(windows)), -(-len(windows) // trainer.cell.pool) or 1):
            if stream.stopping:
                raise Stopped
            groups = np.array_split(pool, -(-len(pool) // SEQUENCES) or 1)
            queries = [_queries(trainer, catalogue, pack(windows, group), items) for group in groups]
            yield torch.cat(queries), pack(windows, pool)
    finally:
        trainer.model.train()


def _groups(catalogue: Tensor) -> Groups:
    """Return the groups of items with equal embeddings in ``catalogue`` (items, h)."""
    return group_vectors(catalogue.float().cpu().numpy())


def _queries(trainer: Trainer, catalogue: Tensor, packed: Packed, items: NDArray[np.integer]) -> Tensor:
    """Return the queries (Q, h) of the scored positions in the windows ``packed``."""
    read = torch.from_numpy(items[packed.inputs].astype(np.int64)).to(catalogue.device)
    with torch.no_grad(), trainer.autocast():
        queries = trainer.queries(catalogue[read], packed.inputs, np.diff(packed.starts))
    return queries.float()[torch.from_numpy(packed.scored).to(catalogue.device)]


def _beside(
    trainer: Trainer, batches: Iterator[tuple[Tensor, Packed]], rivals: int
) -> Iterator[tuple[Ranked, NDArray[np.integer]]]:
    catalogue, log = trainer.embeddings(), trainer.data.log
    groups = _groups(catalogue)
    step = max(AT_ONCE // ((rivals + 1) * catalogue.shape[1]), 1)
    for number, (queries, packed) in enumerate(batches):
        targets, history = packed.targets[packed.scored], packed.history[packed.scored]
        drawn = draw_unseen(log, log.owners[targets], rivals, seed=trainer.cell.seed + number)
        candidates = np.concatenate([log.items[targets][:, None], drawn], 1)
        for first in range(0, len(targets), step):
            some_of = slice(first, first + step)
            own = candidates[some_of]
            there = catalogue[torch.from_numpy(own).to(catalogue.device)].float()
            scores = torch.einsum("qh,qch->qc", queries[some_of], there).cpu().numpy()
            leveled = scores if groups.distinct else level(scores, groups.of[own])
            yield rank_batch(leveled, np.zeros(len(own), np.int64), own, top=1), history[some_of]


def _local(
    catalogue: Tensor, groups: Groups, batches: Iterator[tuple[Tensor, Packed]], log_items: NDArray[np.integer]
) -> Iterator[tuple[Ranked, NDArray[np.integer]]]:
    for queries, packed in batches:
        candidates, own = np.unique(log_items[packed.targets[packed.scored]], return_inverse=True)
        distinct, column = np.unique(groups.of[candidates], return_inverse=True)
        there = catalogue[torch.from_numpy(groups.first[distinct]).to(catalogue.device)].float().mT
        step = max(AT_ONCE // len(candidates), 1) if len(candidates) else 1
        pieces = [
            rank_batch((queries[i : i + step] @ there).cpu().numpy()[:, column], own[i : i + step], candidates, top=TOP)
            for i in range(0, len(own), step)
        ]
        yield join(pieces, candidates, min(TOP, len(candidates))), packed.history[packed.scored]


def _full(
    catalogue: Tensor, groups: Groups, batches: Iterator[tuple[Tensor, Packed]], log_items: NDArray[np.integer]
) -> Iterator[tuple[Ranked, NDArray[np.integer]]]:
    """Yield the exact ranks of the true items among all items, and the history lengths, for each pool.

    The scores are computed in blocks of items.
    """
    distinct = catalogue if groups.distinct else catalogue[torch.from_numpy(groups.first).to(catalogue.device)]
    for queries, packed in batches:
        targets = log_items[packed.targets[packed.scored]].astype(np.int64)
        pieces = []
        for first in range(0, len(targets), QUERIES):
            own = slice(first, first + QUERIES)
            chunk = AT_ONCE // len(targets[own])
            score = partial(_scores, queries[own], distinct)
            pieces.append(rank_catalogue(score, targets[own], groups, top=TOP, chunk=chunk))
        yield join(pieces, range(len(catalogue)), min(TOP, len(catalogue))), packed.history[packed.scored]


def _scores(queries: Tensor, catalogue: Tensor, first: int, stop: int) -> NDArray[np.float32]:
    found: NDArray[np.float32] = (queries @ catalogue[first:stop].float().mT).cpu().numpy()
    return found
