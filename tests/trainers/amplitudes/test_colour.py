"""Colour matrices compared with independent group invariants: dimensions and Casimirs."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.trainers.amplitudes.processes.catalogue import colour_matrix, colour_orders, generators

C_F = 4 / 3


def test_generators_are_those_of_su3() -> None:
    t = generators()
    assert t.shape == (8, 3, 3)
    np.testing.assert_allclose(t, t.conj().swapaxes(1, 2))
    np.testing.assert_allclose(np.einsum("aij,bji->ab", t, t), np.eye(8) / 2, atol=1e-15)
    np.testing.assert_allclose(np.einsum("aij,ajk->ik", t, t), C_F * np.eye(3), atol=1e-15)


def test_colour_sums() -> None:
    np.testing.assert_allclose(colour_matrix(1, 0), [[3]])
    np.testing.assert_allclose(colour_matrix(1, 1), [[3 * C_F]])
    np.testing.assert_allclose(colour_matrix(1, 2), 3 * C_F * np.array([[C_F, -1 / 6], [-1 / 6, C_F]]), atol=1e-14)
    np.testing.assert_allclose(colour_matrix(2, 0), [[2]])
    for gluons in (3, 4):
        found = colour_matrix(1, gluons)
        np.testing.assert_allclose(np.diag(found), 3 * C_F**gluons)
        np.testing.assert_allclose(found, found.T, atol=1e-14)
    # The sum over all six orders of the gluons is symmetric in the three gluons.
    symmetric = np.einsum("aij,bjk,ckl->abcil", *[generators()] * 3)
    total = sum(np.transpose(symmetric, (*order, 3, 4)) for order in np.ndindex(3, 3, 3) if len(set(order)) == 3)
    assert colour_matrix(1, 3).sum() == pytest.approx(float(np.sum(np.abs(total) ** 2)))


def test_orders() -> None:
    assert colour_orders(((1, 0),), (3, 4)) == ((1, 3, 4, 0), (1, 4, 3, 0))
    assert colour_orders(((2, 3), (1, 0)), ()) == ((2, 1, 0, 3),)
    with pytest.raises(ValueError, match="two quark lines without"):
        colour_orders(((2, 3), (1, 0)), (4,))
