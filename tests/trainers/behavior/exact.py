"""Exact probabilities for a synthetic log. Texts of a catalogue as an array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.trainers.behavior.logs.log import Codes, Items, Log
from isoplan.trainers.behavior.logs.synthetic import Truth, World, interests_of, make, truth_of


@dataclass(frozen=True, eq=False)
class Made:
    """A log and the model that generated it.

    ``interests`` (events,) is the interest of the user at each event. Entry (s, r) of ``transition`` (S, S) is the
    probability that interest r follows interest s.
    """

    log: Log
    truth: Truth
    interests: Codes
    transition: Floats


def make_exact(world: World) -> Made:
    """Return the synthetic log with the parameters ``world``, and the model that generates it."""
    log = make(world)
    stay = np.eye(world.interests)
    moved = (np.roll(stay, 1, axis=1) + np.roll(stay, -1, axis=1)) / 2
    transition = (1 - world.drift) * stay + world.drift * moved
    return Made(log, truth_of(world), interests_of(world, log.starts), transition)


def beliefs(made: Made) -> Floats:
    """Return an array (events, S): the probability of each interest at an event, given earlier events of the user."""
    log, truth = made.log, made.truth
    topics = truth.topics[log.items]
    found = np.empty((len(log), len(made.transition)))
    order = np.argsort(-log.lengths, kind="stable")
    first, left = log.starts[:-1][order], log.lengths[order]
    now = np.full((len(order), found.shape[1]), 1 / found.shape[1])
    for step in range(int(left.max(initial=0))):
        # Users with many events come first. The users who still have an event at ``step`` are therefore a slice.
        active = int(np.searchsorted(-left, -step))
        events = first[:active] + step
        found[events] = now[:active]
        seen = now[:active] * truth.emission.T[topics[events]]
        now[:active] = (seen / seen.sum(axis=1, keepdims=True)) @ made.transition
    return found


def chances(truth: Truth, believed: Floats, first: int = 0, stop: int | None = None) -> Floats:
    """Return an array (Q, stop - first): the probability of each item from ``first`` up to ``stop``.

    ``believed`` (Q, S) contains the probability of each interest.
    """
    some = slice(first, stop)
    return (believed @ truth.emission)[:, truth.topics[some]] * truth.within[some]


def floor(made: Made, believed: Floats, events: Ints | slice = slice(None)) -> Floats:
    """Return -log p in nats for each of the ``events``.

    p is the probability of the item of the event, given the earlier events of the user.

    The mean of the result is the loss of the best possible model, up to noise of order 1 / sqrt(number of events).
    """
    items = made.log.items[events]
    topics = made.truth.topics[items]
    chance = np.einsum("es,es->e", believed[events], made.truth.emission.T[topics])
    return -np.log(chance * made.truth.within[items])


def popularity_of(truth: Truth) -> Floats:
    """Return an array (items,): for each item, the expected fraction of all events that have this item."""
    return truth.emission.mean(axis=0)[truth.topics] * truth.within


def text_of(items: Items, most: int) -> Codes:
    """Return an array (items, most): the first ``most`` words of each item. Shorter texts are filled with 0."""
    texts = np.split(items.tokens, items.starts[1:-1])
    return np.array([np.pad(words[:most], (0, most - len(words[:most]))) for words in texts], np.int32)
