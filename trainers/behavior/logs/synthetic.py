"""Event logs made here, of which everything is known: what made each event, and how well anybody could predict it.

A user has one of a few interests at a time, which lie on a ring; from event to event it drifts to a neighbouring one
with the chance ``drift``. An item has a topic. An event is of topic z with the chance b_z exp(taste a_s . c_z), where s
is the user's interest, with vectors a_s that change slowly along the ring and c_z, and of item i of that topic with a
chance that goes with its popularity, rank^-zipf. The weights b are such that each item is seen just as often as its
popularity says. Text, category and price of an item tell its topic, none for certain; its number tells nothing.

That is a hidden Markov model, so what the events before say of the next one is known exactly (forward recursion:
Rabiner, Proc. IEEE 77 (1989) 257, Sec. III A). ``beliefs`` and ``chances`` give it, ``floor`` the cross-entropy that no
model can beat in the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import Codes, Features, Items, Log, texts

DAY = 86_400.0
"""Mean time between the events of a user, in seconds; users begin within a year."""
SPREAD = 0.8
"""Standard deviation of the log of a user's number of events."""
SHORTEST = 3
OWN_WORDS, OWN = 12, 0.7
"""Words of a topic's own, and the chance that a word of a text is one of them."""
TOLD = 0.8
"""The chance that an item's category is that of its topic."""
PRICE_SPREAD = 0.3
"""Standard deviation of the log price within a topic; that between topics is one."""
BALANCED, MOST_SCALINGS = 1e-12, 1000
"""How near the popularity of topics comes to what it should be, and after how many steps it is left as it is."""
MOST_TASTE = 10.0


@dataclass(frozen=True)
class World:
    """What is made: sizes, and how predictable it is.

    ``mean_length`` events a user in the mean, ``SHORTEST`` at least and ``longest`` at most. ``taste`` 0 makes all
    users alike; ``drift`` 0 leaves a user its interest, and 2/3 is as fast as it can be forgotten. ``categories`` are
    groups of topics. A ``seed`` gives the same catalogue for any number of users, and the same first users for more.
    """

    users: int = 1000
    items: int = 2000
    mean_length: float = 20.0
    longest: int = 200
    zipf: float = 1.0
    topics: int = 40
    interests: int = 16
    dimensions: int = 8
    taste: float = 3.0
    drift: float = 0.05
    categories: int = 10
    vocabulary: int = 1000
    words: float = 8.0
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"users": 1, "items": self.topics, "mean_length": SHORTEST, "longest": SHORTEST, "zipf": 0, "topics": 1}
        least |= {"interests": 3, "dimensions": 1, "taste": 0, "drift": 0, "categories": 1, "words": 1, "seed": 0}
        for name, low in (least | {"vocabulary": OWN_WORDS + 1}).items():
            if not low <= getattr(self, name) < np.inf:
                raise PlannerError(f"{name} of a synthetic log is {getattr(self, name):g}: give {low:g} or more.")
        if self.taste > MOST_TASTE:
            raise PlannerError(f"taste of a synthetic log is {self.taste:g}: give {MOST_TASTE:g} or less.")
        if self.drift > 1:
            raise PlannerError(f"drift of a synthetic log is {self.drift:g}: give a chance from 0 to 1.")


@dataclass(frozen=True, eq=False)
class Truth:
    """How the events are made.

    Item i has the topic ``topics[i]``, (items,), and within it the chance ``within[i]``, (items,). ``emission`` (S, Z)
    is the chance of each topic under each interest, ``transition`` (S, S) that of each interest after each. All
    interests are equally likely at first, and so at any time. ``popularity`` (items,) is the share of all events that
    each item has in the long run.
    """

    topics: Ints
    within: Floats
    emission: Floats
    transition: Floats

    @property
    def popularity(self) -> Floats:
        """The share of all events that each item has in the long run, (items,)."""
        return self.emission.mean(axis=0)[self.topics] * self.within


@dataclass(frozen=True, eq=False)
class Made:
    """A log and the truth behind it; ``interests`` (events,) is what its user wanted at each event."""

    log: Log
    truth: Truth
    interests: Codes


def make(world: World) -> Made:
    """The log of a world: the same one every time."""
    truth = _truth(world)
    lengths = _lengths(world)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    interests = _interests(world, starts)
    topics = _drawn(truth.emission.cumsum(axis=1), interests, _rng(world, "topics").random(starts[-1]))
    items = _items_of(truth, topics, _rng(world, "choices").random(starts[-1]))
    log = Log(
        texts([f"u{u}" for u in range(world.users)]),
        starts,
        items,
        _times(world, starts),
        Features.none(len(items)),
        _catalogue(world, truth.topics),
    )
    return Made(log, truth, interests)


def beliefs(made: Made) -> Floats:
    """The chance of each interest at each event given the events of its user before it, (events, S)."""
    log, truth = made.log, made.truth
    topics = truth.topics[log.items]
    found = np.empty((len(log), len(truth.transition)))
    order = np.argsort(-log.lengths, kind="stable")
    first, left = log.starts[:-1][order], log.lengths[order]
    now = np.full((len(order), found.shape[1]), 1 / found.shape[1])
    for step in range(int(left.max(initial=0))):
        active = int(np.searchsorted(-left, -step))  # users with more events than that, which come first
        events = first[:active] + step
        found[events] = now[:active]
        seen = now[:active] * truth.emission.T[topics[events]]
        now[:active] = (seen / seen.sum(axis=1, keepdims=True)) @ truth.transition
    return found


def chances(truth: Truth, believed: Floats, first: int = 0, stop: int | None = None) -> Floats:
    """The chance of each item from ``first`` up to ``stop``, (Q, stop - first), given that of the interests, (Q, S)."""
    some = slice(first, stop)
    return (believed @ truth.emission)[:, truth.topics[some]] * truth.within[some]


def floor(made: Made, believed: Floats, events: Ints | slice = slice(None)) -> Floats:
    """-log of the chance that each of the ``events`` had given those before it, in nats.

    Their mean is what the best of all models has as its loss, up to noise of one over the root of their number.
    """
    items = made.log.items[events]
    topics = made.truth.topics[items]
    chance = np.einsum("es,es->e", believed[events], made.truth.emission.T[topics])
    return -np.log(chance * made.truth.within[items])


STREAMS = (
    *("ranks", "topic", "tastes", "words", "text", "category", "price"),
    *("lengths", "interests", "drift", "topics", "choices", "times", "begin"),
)
"""Random numbers of one kind do not move with how many of another are drawn."""


def _rng(world: World, stream: str) -> np.random.Generator:
    return np.random.default_rng([world.seed, STREAMS.index(stream)])


def _truth(world: World) -> Truth:
    weights = np.arange(1, world.items + 1, dtype=np.float64) ** -world.zipf
    weights = _rng(world, "ranks").permutation(weights / weights.sum())
    topics = _rng(world, "topic").permutation(np.arange(world.items) % world.topics)
    shares = np.bincount(topics, weights, minlength=world.topics).astype(np.float64)
    rng = _rng(world, "tastes")
    ring = np.arange(world.interests)
    waves = np.stack([np.cos(2 * np.pi * ring / world.interests), np.sin(2 * np.pi * ring / world.interests)], axis=1)
    wanted = waves @ rng.normal(size=(2, world.dimensions)) + 0.3 * rng.normal(size=(world.interests, world.dimensions))
    offered = rng.normal(size=(world.topics, world.dimensions))
    scores = world.taste * wanted @ offered.T / np.sqrt(world.dimensions)
    stay = np.eye(world.interests)
    moved = (np.roll(stay, 1, axis=1) + np.roll(stay, -1, axis=1)) / 2
    transition = (1 - world.drift) * stay + world.drift * moved
    return Truth(topics, weights / shares[topics], _balanced(np.exp(scores - scores.max()), shares), transition)


def _balanced(emission: Floats, shares: Floats) -> Floats:
    """The rows scaled to sum to one and the columns so that their means are ``shares`` (Sinkhorn and Knopp 1967)."""
    for _ in range(MOST_SCALINGS):
        emission = emission / emission.sum(axis=1, keepdims=True)
        means = emission.mean(axis=0)
        if np.abs(means - shares).max() < BALANCED:
            break
        emission = emission * (shares / means)
    return emission / emission.sum(axis=1, keepdims=True)


def _lengths(world: World) -> Ints:
    mean = np.log(world.mean_length) - SPREAD**2 / 2
    drawn = _rng(world, "lengths").lognormal(mean, SPREAD, world.users)
    return np.clip(np.rint(drawn), SHORTEST, world.longest).astype(np.int64)


def _interests(world: World, starts: Ints) -> Codes:
    """The interest at each event: a walk on the ring."""
    steps = _rng(world, "drift").random(starts[-1])
    moves = (steps < world.drift / 2).astype(np.int64) - (steps > 1 - world.drift / 2)
    moves[starts[:-1]] = _rng(world, "interests").integers(0, world.interests, world.users)
    walked = np.cumsum(moves)
    before = np.repeat(walked[starts[:-1]] - moves[starts[:-1]], np.diff(starts))
    return ((walked - before) % world.interests).astype(np.int32)


def _drawn(cumulative: Floats, rows: Codes, chance: Floats) -> Ints:
    """The place that each ``chance`` (n,) from 0 to 1 falls on in its row of sums (R, places), (n,)."""
    count = cumulative.shape[1]
    sums = (cumulative / cumulative[:, -1:] + np.arange(len(cumulative))[:, None]).ravel()
    found = np.searchsorted(sums, rows + chance, side="right") - rows * np.int64(count)
    return np.clip(found, 0, count - 1)


def _items_of(truth: Truth, topics: Ints, chance: Floats) -> Codes:
    """An item of each topic, (n,), as ``chance`` says."""
    order = np.argsort(truth.topics, kind="stable")
    sizes = np.bincount(truth.topics)
    ends = np.cumsum(sizes)
    sums = np.cumsum(truth.within[order])
    found = np.searchsorted(sums, topics + chance, side="right")  # the items of a topic have the chance one together
    return order[np.clip(found, (ends - sizes)[topics], ends[topics] - 1)].astype(np.int32)


def _times(world: World, starts: Ints) -> Floats:
    rng = _rng(world, "times")
    gaps = rng.exponential(DAY, starts[-1])
    passed = np.cumsum(gaps)
    begun = _rng(world, "begin").uniform(0, 365 * DAY, world.users)
    return passed + np.repeat(begun - passed[starts[:-1]], np.diff(starts))


def _catalogue(world: World, topics: Ints) -> Items:
    count = len(topics)
    lengths = 1 + _rng(world, "text").poisson(world.words - 1, count)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rng = _rng(world, "words")
    own = rng.integers(1, world.vocabulary, (world.topics, OWN_WORDS))
    frequent = np.arange(1, world.vocabulary) ** -1.0
    common = np.searchsorted(np.cumsum(frequent / frequent.sum()), rng.random(starts[-1])) + 1
    mine = own[np.repeat(topics, lengths), rng.integers(0, OWN_WORDS, starts[-1])]
    tokens = np.where(rng.random(starts[-1]) < OWN, mine, np.minimum(common, world.vocabulary - 1)).astype(np.int32)
    rng = _rng(world, "category")
    told = np.where(rng.random(count) < TOLD, topics % world.categories, rng.integers(0, world.categories, count))
    rng = _rng(world, "price")
    means = rng.normal(size=world.topics)
    price = np.exp(3 + means[topics] + PRICE_SPREAD * rng.normal(size=count))
    features = Features(
        (told[:, None] + 1).astype(np.int32),
        (world.categories + 1,),
        price[:, None].astype(np.float32),
        ("category",),
        ("price",),
    )
    return Items(texts([f"i{i}" for i in range(count)]), tokens, starts, world.vocabulary, features)
