"""Selection of the cheapest trained cell that can be the anchor of a plan."""

from __future__ import annotations

from benchmarks.amplitudes_plans import LADDER, SIZES, cheapest

Key = tuple[int, float]


def cells(losses: dict[Key, float]) -> dict[Key, dict[str, float]]:
    """Return cells by (iterations, N). An iteration uses 100 of 1,000 points, with 6 N FLOPs per point."""
    return {
        (n, N): {"loss": loss, "D": 1000.0, "N": N, "seen": 100.0 * n, "C": 600.0 * N * n}
        for (n, N), loss in losses.items()
    }


def test_the_cheapest_is_one_that_neither_more_iterations_nor_a_larger_network_lower() -> None:
    """The anchor has the second-smallest number of iterations and the smallest N.

    Compared with the anchor, the loss is 5 % lower with more iterations, and 8 % lower with a larger N. The loss of
    the cell with fewer iterations is twice the loss of the anchor.
    """
    short, long, longer = LADDER[:3]
    small, middle, large = SIZES
    losses = {
        (short, small): 2.0, (long, small): 1.0, (longer, small): 0.95,
        (short, middle): 1.5, (long, middle): 0.92, (longer, middle): 0.9,
        (short, large): 1.4, (long, large): 0.91,
    }  # fmt: skip
    found = cheapest(cells(losses))
    assert found is not None
    assert (found.x, found.loss, found.N) == (1000, 1.0, small)
    assert found.epochs == 100 * long / 1000
    assert found.flops_per_sample == 6 * small
    assert found.doubled == 1 - 0.92
    assert cheapest(cells(losses | {(longer, small): 0.5, (longer, middle): 0.5})) is None
