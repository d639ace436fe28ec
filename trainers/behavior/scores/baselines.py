"""Baselines for the scored events of a log. A model that is not better than the baselines counts as untrained.

- **guess**: all candidates have equal probabilities. The loss is the mean log of the number of candidates.
- **popularity**: the probability of an item is its fraction of the training events. An item without training events is
  treated as if it had half an event. For the whole catalogue, the loss is the unigram cross-entropy of the log.
- **last items**: a Markov chain of counts with gaps (Dirichlet smoothing). The context is the last ``REACH`` items of
  the user. The weight of an item is the number of times that it follows an item of the context within ``REACH`` events,
  counted in all training events. Then ``MASS`` events are added to the weights in proportion to popularity.

Let y be the next item. A model trained with the in-batch softmax learns p(y | history) / p(y). If the model learns
nothing from the history, this ratio is equal for all candidates. A model trained with uniform negatives learns p(y |
history). A model therefore counts as untrained in two cases:

- Its loss over its default candidates is at least the smaller of the losses of guess and popularity.
- Its recall@10 over the whole catalogue is below the recall@10 of the ten most popular items.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isoplan.engine.arrays import Floats, Ints
from isoplan.trainers.backend.store.files import write_json
from isoplan.trainers.behavior.logs.log import Log
from isoplan.trainers.behavior.logs.split import Part, Split, Windows, pack
from isoplan.trainers.behavior.model.shape import VERSION
from isoplan.trainers.behavior.scores.metrics import BASELINES, SHORT, TOP, Regime, evaluate
from isoplan.trainers.behavior.scores.ranks import Ranked, join, rank_batch
from isoplan.trainers.behavior.training.cell_data import Data

KEPT = "baselines"
"""Folder of a workspace with the stored baselines of each log."""
REACH = 5
MASS = 100.0
AT_ONCE = 2**22
"""Approximate number of scores that are in memory at once."""
MOST = 2**28
"""Approximate maximum number of scores that are computed for a log.

If a log needs more scores, only a random selection of its events is scored. The seed of the selection is fixed.
"""


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of the training events.

    ``shares`` (items,) contains, for each item, the fraction of the training events with this item. Entry (a, b) of
    ``after`` (items, items) is the number of times that item b followed item a within ``REACH`` events.
    """

    shares: Floats
    after: sparse.csr_array


def baselines(data: Data, pool: int, regime: Regime) -> dict[str, float]:
    """Return the values of the columns ``BASELINES`` for one log, except the columns that depend on a model.

    The column ``scored`` is the number of scored events. Batch-local candidates are the unique targets of ``pool``
    sequences.
    """
    counts = count(data.log, data.split, data.shares.astype(float))
    judged = _some(data.judged, MOST // data.facts.items)
    found = {"scored": float(np.sum(data.judged.stop - data.judged.scored))}
    found["guess_loss"] = _guess(data, pool, regime)
    for name, mass in (("popularity", np.inf), ("last_items", MASS)):
        full = _evaluated(data, counts, judged, pool, "full", mass)
        own = full if regime == "full" else _evaluated(data, counts, data.judged, pool, "local", mass)
        found |= {f"{name}_{metric}": own[metric] for metric in SHORT}
        found[f"{name}_full_recall@10"] = full["recall@10"]
    return found


def kept_baselines(root: Path, data: Data, part: Part, pool: int, regime: Regime) -> dict[str, float]:
    """Return the ``baselines`` for the scored events of ``part`` (validation or test), from the workspace ``root``.

    If the workspace does not contain these baselines, the function computes and stores them for later training runs.
    """
    what = repr((VERSION, data.fingerprint, part, data.judged.length, len(data.judged), pool, regime))
    place = root / KEPT / f"{sha256(what.encode()).hexdigest()[:20]}.json"
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(place.read_bytes())
        return {name: float(found[name]) for name in BASELINES if name in found}
    made = baselines(data, pool, regime)
    place.parent.mkdir(exist_ok=True)
    write_json(place, made)
    return made


def untrained(cell: Mapping[str, float], known: Mapping[str, float], regime: Regime) -> bool:
    """Return whether a model with the metrics ``cell`` counts as untrained, compared with the baselines ``known``."""
    recall = cell["recall@10" if regime == "full" else "full_recall@10"]
    no_better = cell["loss"] >= min(known["guess_loss"], known["popularity_loss"])
    return bool(no_better or recall < known["popularity_full_recall@10"])


def count(log: Log, split: Split, shares: Floats) -> Counts:
    """Return the counts of the training events of ``split``.

    The result contains ``shares`` (items,), normalised to the sum 1.
    """
    n = len(log.catalogue)
    place, lengths = np.arange(len(log)), np.diff(log.starts)
    trained = (place >= np.repeat(split.first, lengths)) & (place < np.repeat(split.train, lengths))
    pairs = []
    for gap in range(1, REACH + 1):
        there = trained[:-gap] & trained[gap:] & (log.owners[:-gap] == log.owners[gap:])
        pairs.append(np.stack([log.items[:-gap][there], log.items[gap:][there]]))
    before, after = np.concatenate(pairs, axis=1).astype(np.int64)
    return Counts(shares / shares.sum(), sparse.csr_array((np.ones(len(before)), (before, after)), shape=(n, n)))


def _guess(data: Data, pool: int, regime: Regime) -> float:
    """Return the loss of guess: the mean over scored events of log(number of candidates), in nats."""
    if regime == "full":
        return float(np.log(data.facts.items))
    sizes = [(len(np.unique(own)), len(own)) for own, _, _ in _pools(data, data.judged, pool)]
    return float(sum(n * np.log(m) for m, n in sizes) / sum(n for _, n in sizes))


def _evaluated(
    data: Data, counts: Counts, windows: Windows, pool: int, regime: Regime, mass: float
) -> dict[str, float]:
    ranked = _ranked(data, counts, windows, pool, regime, mass)
    return dict(evaluate(ranked, data.facts.items, (10,), ()).metrics)


def _ranked(
    data: Data, counts: Counts, windows: Windows, pool: int, regime: Regime, mass: float
) -> Iterator[tuple[Ranked, NDArray[np.integer]]]:
    every = np.arange(data.facts.items)
    for own, recent, history in _pools(data, windows, pool):
        candidates, column = (every, own) if regime == "full" else np.unique(own, return_inverse=True)
        step = max(AT_ONCE // len(candidates), 1)
        pieces = [
            rank_batch(
                _scores(counts, recent[i : i + step], candidates, mass), column[i : i + step], candidates, top=TOP
            )
            for i in range(0, len(own), step)
        ]
        yield join(pieces, candidates, min(TOP, len(candidates))), history


def _pools(data: Data, windows: Windows, pool: int) -> Iterator[tuple[Ints, Ints, NDArray[np.integer]]]:
    """Yield the true items (Q,), previous items (Q, REACH) and history lengths (Q,) of each pool of windows.

    The previous items are the items of the user's events before the true item, latest first. Missing items are -1.
    """
    items = data.log.items.astype(np.int64)
    for chosen in np.array_split(np.arange(len(windows)), -(-len(windows) // pool) or 1):
        packed = pack(windows, chosen)
        read, history = packed.inputs[packed.scored], packed.history[packed.scored]
        back = np.arange(REACH)
        recent = np.where(back < history[:, None], items[np.maximum(read[:, None] - back, 0)], -1)
        yield items[packed.targets[packed.scored]], recent, history


def _scores(counts: Counts, recent: Ints, candidates: Ints, mass: float) -> Floats:
    """Return log p (Q, C) of the ``candidates`` (C,) after the items ``recent`` (Q, REACH), in nats.

    ``mass`` is the number of events that are added in proportion to popularity. If ``mass`` is infinite, p is the
    popularity.
    """
    by_share = counts.shares[candidates]
    if np.isinf(mass):
        return np.tile(np.log(by_share), (len(recent), 1))
    rows, there = np.repeat(np.arange(len(recent)), REACH), recent.ravel() >= 0
    shape = (len(recent), len(counts.shares))
    read = sparse.csr_array((np.ones(int(there.sum())), (rows[there], recent.ravel()[there])), shape=shape)
    followed = sparse.csr_array(read @ counts.after)
    total = np.asarray(followed.sum(axis=1)).reshape(-1, 1)
    return np.asarray(np.log((followed[:, candidates].toarray() + mass * by_share) / (total + mass)))


def _some(windows: Windows, most: int) -> Windows:
    """Return a random selection of at most ``most`` of the ``windows``. The seed is fixed."""
    if len(windows) <= most:
        return windows
    chosen = np.sort(np.random.default_rng(0).permutation(len(windows))[: max(most, 1)])
    return Windows(windows.first[chosen], windows.scored[chosen], windows.stop[chosen], windows.length)
