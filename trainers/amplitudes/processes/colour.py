"""Colour orders of the coloured legs, and the matrix of their interference, from the generators of SU(3)."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from isoplan.trainers.amplitudes.processes.fields import COLOURS

Lines = tuple[tuple[int, int], ...]
"""Quark lines as (leg of psibar, leg of psi)."""


@cache
def generators(n: int = COLOURS) -> NDArray[np.complex128]:
    """Return T^a of SU(n) with tr(T^a T^b) = delta^ab / 2, shape (n^2 - 1, n, n).

    For n = 3 these are the Gell-Mann matrices divided by two.
    """
    found = []
    for i in range(n):
        for j in range(i):
            for entry in (0.5, -0.5j):
                matrix = np.zeros((n, n), np.complex128)
                matrix[j, i], matrix[i, j] = entry, np.conj(entry)
                found.append(matrix)
        if i:
            found.append(
                np.diag([1.0] * i + [-i] + [0.0] * (n - i - 1)).astype(np.complex128) / np.sqrt(2 * i * (i + 1))
            )
    return np.stack(found)


def orders(lines: Lines, gluons: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the colour orders: psibar, gluons in every order, psi; or one line inside the other without gluons.

    A gluon from the inner line is attached to the outer one, so the only colour structure is T^a T^a. Raises ValueError
    for two lines with gluons, which have more structures than orders.
    """
    if len(lines) == 1:
        ((bar, psi),) = lines
        return tuple((bar, *order, psi) for order in permutations(gluons))
    if len(lines) != 2 or gluons:
        raise ValueError("Colour orders are known for one quark line with gluons, or for two without.")
    (outer_bar, outer_psi), (bar, psi) = lines
    return ((outer_bar, bar, psi, outer_psi),)


@cache
def matrix(lines: int, gluons: int) -> NDArray[np.float64]:
    """Return the colour sums c_st of |M|^2 = sum_st A_s c_st conj(A_t), in the order of ``orders``.

    Each structure is written as a tensor with one index per leg, and the tensors are contracted with each other.
    """
    t = generators()
    if lines == 2:
        tensors = np.einsum("aij,akl->ijkl", t, t)[None]
    else:
        chain = np.eye(COLOURS, dtype=np.complex128)
        for _ in range(gluons):
            chain = np.einsum("...ij,ajk->...aik", chain, t)
        tensors = np.stack([np.moveaxis(chain, range(gluons), order) for order in permutations(range(gluons))])
    flat = tensors.reshape(len(tensors), -1)
    return np.ascontiguousarray((flat @ flat.conj().T).real)
