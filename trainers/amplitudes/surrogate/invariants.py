"""Inputs of a surrogate: the logarithms of all invariants that vary between events (eq. 9)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes.check import row_of

AT_ONCE = 1_000_000
"""Number of products of momenta per block."""


def pairs(particles: int, varying: bool) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j), i < j, of external particles whose p_i . p_j varies between events.

    p_i . p_i is the mass squared and never included. If sqrt(s) is fixed, p_1 . p_2 is constant too, and with two
    particles in the final state also p_3 . p_4. ``particles`` includes the incoming ones.
    """
    constant = set() if varying else {(0, 1)} | ({(2, 3)} if particles == 4 else set())
    return tuple(pair for pair in combinations(range(particles), 2) if pair not in constant)


def inputs(particles: int, varying: bool) -> int:
    """Return the number of invariants: n (n - 1) / 2 for n ``particles``, minus the constant ones."""
    return len(pairs(particles, varying))


def freedoms(particles: int, varying: bool) -> int:
    """Return the degrees of freedom d of the amplitude: 3 n_f - 4, minus one at fixed sqrt(s) (amplitudes, Sec. 2)."""
    return 3 * (particles - 2) - 4 - (not varying)


def log_invariants(momenta: Floats, chosen: tuple[tuple[int, int], ...]) -> Floats:
    """Return z_ij = log(p_i . p_j) in log GeV^2, (events, pairs), for ``momenta`` (events, particles, 4).

    Raises PlannerError if a product has no logarithm (see ``unfit_momenta``).
    """
    found = _products(momenta, chosen)
    if why := _without_logarithm(found, chosen, 0):
        raise PlannerError(why)
    return np.asarray(np.log(found))


def unfit_momenta(momenta: Floats, chosen: tuple[tuple[int, int], ...]) -> str:
    """Return the reason why invariants of ``momenta`` have no logarithm, or "" if all have one.

    The reason is a sentence that names the first row where p_i . p_j is not positive, for example for collinear
    massless particles. Momenta are processed in blocks to limit memory.
    """
    rows = max(AT_ONCE // len(chosen), 1)
    for first in range(0, len(momenta), rows):
        if why := _without_logarithm(_products(momenta[first : first + rows], chosen), chosen, first):
            return why
    return ""


def _products(momenta: Floats, chosen: tuple[tuple[int, int], ...]) -> Floats:
    """Return p_i . p_j in GeV^2, (events, pairs)."""
    i, j = (np.array([pair[end] for pair in chosen]) for end in (0, 1))
    lower = momenta * np.array([1.0, -1.0, -1.0, -1.0])
    return np.asarray(np.einsum("epk,epk->ep", momenta[:, i], lower[:, j]))


def _without_logarithm(found: Floats, chosen: tuple[tuple[int, int], ...], first: int) -> str:
    """Return the sentence of ``unfit_momenta`` for products (events, pairs) whose first row has the index ``first``."""
    bad = ~(found > 0)
    if not bad.any():
        return ""
    row, pair = np.argwhere(bad)[0]
    a, b = chosen[pair]
    return (
        f"{row_of(first + row)}: p_i . p_j of particles {a} and {b} is {found[row, pair]:.3g} GeV^2 and has no "
        "logarithm: leave out events with collinear or soft particles."
    )
