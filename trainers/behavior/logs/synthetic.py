"""Synthetic event logs from a known probabilistic model, for which the best possible prediction can be computed.

At any time, a user has one of a few interests, which are arranged in a ring. Between two events, the interest of a user
changes to a neighbour in the ring with probability ``drift``. Each item has a topic. An event is drawn in two steps.
First, a topic z is drawn with a probability proportional to b_z exp(taste a_s . c_z). Here s is the interest of the
user, a_s is a vector that varies slowly along the ring, and c_z is a vector of the topic. Then an item of this topic is
drawn with a probability proportional to its popularity, rank^-zipf. The weights b_z are set such that the frequency of
each item is equal to its popularity. The text, the category and the price of an item depend on its topic, but they do
not determine the topic exactly. The number of an item contains no information.

This is a hidden Markov model. The forward recursion (Rabiner, Proc. IEEE 77 (1989) 257, Sec. III A) therefore gives the
exact probability of the next event from the earlier events. The expected loss of this probability is the lower limit
for any model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.log import Codes, Features, Items, Log, texts

DAY = 86_400.0
"""Mean time in seconds between two events of a user. The first events of the users are spread over one year."""
SPREAD = 0.8
"""Standard deviation of the logarithm of the number of events of a user."""
SHORTEST = 3
OWN_WORDS, OWN = 12, 0.7
"""Number of words that are specific to a topic, and probability that a word in the text of an item is such a word."""
TOLD = 0.8
"""Probability that an item has the category of its topic. Otherwise, its category is random."""
PRICE_SPREAD = 0.3
"""Standard deviation of the log price within a topic. The means of the topics have the standard deviation 1."""
BALANCED, MOST_SCALINGS = 1e-12, 1000
"""Tolerance of the topic frequencies in ``_balanced``, and maximum number of iterations to reach the tolerance."""
MOST_TASTE = 10.0


@dataclass(frozen=True)
class World:
    """Parameters of a synthetic log: its sizes, and how predictable it is.

    ``mean_length`` is the approximate mean number of events per user. Each user has from ``SHORTEST`` to ``longest``
    events. If ``taste`` is 0, all users behave equally. If ``drift`` is 0, the interest of a user never changes. If
    ``drift`` is 2/3, past interests are forgotten fastest. ``categories`` is the number of groups of topics. ``seed``
    determines the catalogue, which does not depend on the number of users. If ``users`` is increased, the events of the
    first users stay the same.
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
            raise PlannerError(f"drift of a synthetic log is {self.drift:g}: give a probability from 0 to 1.")


@dataclass(frozen=True, eq=False)
class Truth:
    """The model that generates the events of a synthetic log.

    Item i has the topic ``topics[i]``, and the probability ``within[i]`` within this topic. The two arrays are
    (items,). ``emission`` (S, Z) is the probability of each of Z topics for each of S interests. At any time, all
    interests have equal probabilities.
    """

    topics: Ints
    within: Floats
    emission: Floats


def make(world: World) -> Log:
    """Return the synthetic log with the parameters ``world``. Equal parameters, including the seed, give equal logs."""
    truth = truth_of(world)
    lengths = _lengths(world)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    interests = interests_of(world, starts)
    topics = _drawn(truth.emission.cumsum(axis=1), interests, _rng(world, "topics").random(starts[-1]))
    items = _items_of(truth, topics, _rng(world, "choices").random(starts[-1]))
    users, catalogue = texts([f"u{u}" for u in range(world.users)]), _catalogue(world, truth.topics)
    return Log(users, starts, items, _times(world, starts), Features.none(len(items)), catalogue)


STREAMS = (
    *("ranks", "topic", "tastes", "words", "text", "category", "price"),
    *("lengths", "interests", "drift", "topics", "choices", "times", "begin"),
)
"""Names of the streams of random numbers. The streams are independent: draws from one do not change another."""


def _rng(world: World, stream: str) -> np.random.Generator:
    return np.random.default_rng([world.seed, STREAMS.index(stream)])


def truth_of(world: World) -> Truth:
    """Return the model that generates the events of a synthetic log with the parameters ``world``."""
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
    return Truth(topics, weights / shares[topics], _balanced(np.exp(scores - scores.max()), shares))


def _balanced(emission: Floats, shares: Floats) -> Floats:
    """Scale the rows and columns of ``emission`` until rows sum to 1 and the means of the columns are ``shares``.

    Rows and columns are scaled alternately until the two conditions hold (Sinkhorn and Knopp 1967).
    """
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


def interests_of(world: World, starts: Ints) -> Codes:
    """Return the interest of the user at each event, (events,): a random walk on the ring of interests."""
    steps = _rng(world, "drift").random(starts[-1])
    moves = (steps < world.drift / 2).astype(np.int64) - (steps > 1 - world.drift / 2)
    moves[starts[:-1]] = _rng(world, "interests").integers(0, world.interests, world.users)
    walked = np.cumsum(moves)
    before = np.repeat(walked[starts[:-1]] - moves[starts[:-1]], np.diff(starts))
    return ((walked - before) % world.interests).astype(np.int32)


def _drawn(cumulative: Floats, rows: Codes, chance: Floats) -> Ints:
    """Return indices (n,) that are drawn from discrete distributions by inversion.

    Row r of ``cumulative`` (R, places) contains the cumulative sums of distribution r. Draw i is from distribution
    ``rows[i]`` with the uniform random number ``chance[i]``.
    """
    count = cumulative.shape[1]
    sums = (cumulative / cumulative[:, -1:] + np.arange(len(cumulative))[:, None]).ravel()
    found = np.searchsorted(sums, rows + chance, side="right") - rows * np.int64(count)
    return np.clip(found, 0, count - 1)


def _items_of(truth: Truth, topics: Ints, chance: Floats) -> Codes:
    """Return a random item of each topic in ``topics`` (n,), drawn by inversion of the uniform ``chance`` (n,)."""
    order = np.argsort(truth.topics, kind="stable")
    sizes = np.bincount(truth.topics)
    ends = np.cumsum(sizes)
    sums = np.cumsum(truth.within[order])
    found = np.searchsorted(sums, topics + chance, side="right")  # the probabilities of each topic sum to 1
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
