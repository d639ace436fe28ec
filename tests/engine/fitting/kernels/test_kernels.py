"""Compare the compiled kernels with numpy: elementary functions, random draws, starts, minima and whole fits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.resampling.bootstrap import counts
from isoplan.engine.fitting.resampling.priors import informed
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver import kernels, multistart, philox, threads
from isoplan.engine.fitting.solver.descent import Known
from isoplan.engine.fitting.solver.exponent_grid import grid
from isoplan.engine.fitting.solver.kernels import NUMPY, Engine
from isoplan.engine.fitting.solver.newton import local
from isoplan.engine.fitting.solver.problem import Problem, problem
from isoplan.engine.schema import Runs
from tests.engine.fitting.tables import make_runs, surface


@pytest.fixture(scope="module")
def compiled() -> Engine:
    """Load the compiled kernels. Loading takes 0.5 s from the cache, or 10 s with a compilation."""
    kernels.load()
    found = kernels.compiled(0)
    assert found is not None
    return found


@pytest.fixture
def numpy_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Disable the compiled kernels, so that fits use numpy."""
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "compiled", lambda work: None)
        yield


def problem_of(spec: FitSpec, runs: Runs) -> Problem:
    s = sample(spec, runs)
    return informed(s, problem(s.law, s.spec, s.columns, s.y, s.weight), multistart.least_objective)


def one_axis(n: int, seed: int = 0) -> Runs:
    x = np.geomspace(1e4, 1e9, n)
    noise = np.exp(0.01 * np.random.default_rng(seed).normal(size=n))
    return make_runs({"D": x, "loss": (0.4 + (2e5 / x) ** 0.45) * noise})


def test_philox_gives_the_published_words() -> None:
    """The random words equal the published test vectors of philox4x32-10 (Random123, ``kat_vectors``)."""
    ones = 0xFFFFFFFF
    known = [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]
    for counter, key, words in known:
        assert tuple(philox.philox(np.array(counter, np.uint64), key)) == words


def test_draws_are_even(compiled: Engine) -> None:
    drawn = counts(50, 1, 0, 20_000)
    assert drawn.sum(axis=1).min() == drawn.sum(axis=1).max() == 50
    # The tolerance is five standard errors.
    assert drawn.mean(axis=0) == pytest.approx(np.ones(50), abs=5 / np.sqrt(20_000))
    assert drawn.var(axis=0) == pytest.approx(np.full(50, 1 - 1 / 50), rel=0.06)


@settings(max_examples=30)
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**40), st.integers(1, 60), st.integers(1, 5))
def test_numpy_and_the_kernel_draw_the_same_runs(seed: int, start: int, n: int, groups: int) -> None:
    kernels.load()
    compiled = kernels.compiled(0)
    assert compiled is not None
    group = np.sort(np.arange(n) % groups)
    sizes = np.bincount(group)
    size, first = np.repeat(sizes, sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.random.default_rng(n).permutation(n)
    one = NUMPY.draw(seed, start, start + 3, size, first, order)
    assert np.array_equal(one, compiled.draw(seed, start, start + 3, size, first, order))


def test_exp_and_log_are_exact_to_rounding(compiled: Engine) -> None:
    from isoplan.engine.fitting.solver.kernels.elementary import exp, log

    x = np.r_[np.linspace(-700, 700, 1001), np.linspace(-1e-3, 1e-3, 101), 0.0]
    assert np.array([exp(v) for v in x]) == pytest.approx(np.exp(x), rel=4e-16)
    y = np.r_[np.geomspace(1e-300, 1e300, 1001), np.linspace(0.5, 2, 301)]
    assert np.array([log(v) for v in y]) == pytest.approx(np.log(y), rel=4e-16, abs=1e-18)
    assert (exp(-1e9), exp(1e9)) == pytest.approx((np.exp(-708.0), np.exp(708.0)), rel=1e-12)


CASES = {
    "huber-log": (FitSpec(), make_runs(surface(60, 0.02))),
    "ols": (FitSpec(objective="ols"), make_runs(surface(60, 0.02))),
    "ols-log": (FitSpec(objective="ols-log"), make_runs(surface(60, 0.02))),
    "lad": (FitSpec(objective="lad"), make_runs(surface(60, 0.02))),
    "asymmetric": (FitSpec(objective="asymmetric", skew=7.0), make_runs(surface(60, 0.02))),
    "fixed": (FitSpec(fixed={"E": 1.7, "beta": 0.4}), make_runs(surface(60, 0.02))),
    "fixed amplitude": (FitSpec(fixed={"A": 480.0}), make_runs(surface(60, 0.02))),
    "no floor": (
        FitSpec(),
        make_runs(surface(40, 0.02, truth={"E": 0.0, "A": 480, "B": 2100, "alpha": 0.35, "beta": 0.37})),
    ),
    "one axis": (FitSpec(law="power", axis="D"), one_axis(12)),
    "weights": (FitSpec(), make_runs({**surface(40, 0.02), "weight": np.linspace(0.5, 2, 40)})),
    "priors": (
        FitSpec(prior={"E": (1.7, 0.05), "A": (480.0, 30.0), "alpha": (0.36, 0.01)}),
        make_runs(surface(60, 0.02)),
    ),
    "priors of a scale": (
        FitSpec(law="power", axis="D", prior={"X_c": (2.2e5, 3e4), "alpha": (0.5, 0.05)}, relative_error=0.01),
        one_axis(12),
    ),
    "signed": (FitSpec(objective="ols"), make_runs({k: v - 2.2 * (k == "loss") for k, v in surface(60, 0.02).items()})),
}


KINKED = ("lad", "asymmetric")


@pytest.mark.parametrize("name", CASES)
def test_starts_and_minima_agree_with_numpy(name: str, compiled: Engine) -> None:
    p = problem_of(*CASES[name])
    weight = p.weight * counts(p.n, 3, 0, 12)
    starts = [engine.starts(grid(p), weight, 6) for engine in (NUMPY, compiled)]
    assert starts[1] == pytest.approx(starts[0], rel=1e-8)
    owner = np.repeat(np.arange(12), 6)
    for loss in (p.objective.loss, *p.objective.loss.softer(0.02)[:1]):
        minima = [e.refine(p, starts[0].reshape(72, -1), weight, owner, loss) for e in (NUMPY, compiled)]
        best = [value.reshape(12, 6).min(axis=1) for _, value in minima]
        # At a kink of the loss the end of a descent depends on rounding, so the tolerance is larger.
        assert best[1] == pytest.approx(best[0], rel=1e-6 if name in KINKED else 1e-9)


@pytest.mark.parametrize("warm", [True, False])
def test_a_start_ends_at_a_known_optimum_that_it_comes_close_to(warm: bool, compiled: Engine) -> None:
    p = problem_of(*CASES["huber-log"])
    refine = (compiled if warm else NUMPY).refine
    weight, own = p.weight * counts(p.n, 3, 0, 5), np.arange(5)
    optimum = refine(p, np.tile(multistart.best_fit(p).theta, (5, 1)), weight, own, p.objective.loss)
    # ``known`` differs from the optimum only in the last digits. The refinement returns ``known`` unchanged.
    known = Known(optimum[0] * (1 + 1e-9), optimum[1] * (1 - 1e-9))
    theta, value = refine(p, optimum[0] * 1.01, weight, own, p.objective.loss, known)
    assert np.array_equal(theta, known.theta)
    assert np.array_equal(value, known.value)
    # The known objective in ``above`` is 1 % too high. A descent that falls below it must continue to the optimum.
    above = Known(optimum[0], optimum[1] * 1.01)
    _, value = refine(p, optimum[0] * 1.01, weight, own, p.objective.loss, above)
    assert value == pytest.approx(optimum[1], rel=1e-8)
    far = Known(optimum[0] * 1.5, optimum[1] / 2)
    _, value = refine(p, optimum[0] * 1.01, weight, own, p.objective.loss, far)
    assert value == pytest.approx(optimum[1], rel=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_every_refit_reaches_the_objective_that_numpy_reaches(
    name: str, compiled: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = problem_of(*CASES[name])
    drawn = counts(p.n, 0, 0, 40)
    found = []
    for engine in (None, compiled):
        monkeypatch.setattr(kernels, "compiled", lambda work, engine=engine: engine)
        theta = multistart.refits(p, multistart.best_fit(p), lambda i, j: drawn[i:j], 40)
        found.append(local(p, theta, p.weight * drawn, np.arange(40), p.objective.loss).value)
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_targets_of_their_own(compiled: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refits of r target vectors on the same N and D (y has shape (r, n)) equal r separate fits."""
    p = problem_of(FitSpec(), make_runs(surface(40, 0.02)))
    many = np.stack(
        [surface(40, 0.0)["loss"] * np.exp(0.02 * np.random.default_rng(i).normal(size=40)) for i in range(9)]
    )
    tables = problem(p.law, FitSpec(), {k: v for k, v in surface(40).items() if k != "loss"}, many, np.ones(40))
    once: Any = lambda i, j: np.ones((j - i, 40))  # noqa: E731
    theta = multistart.refits(tables, multistart.best_fit(p), once, 9)
    monkeypatch.setattr(kernels, "compiled", lambda work: None)
    assert theta == pytest.approx(multistart.refits(tables, multistart.best_fit(p), once, 9), rel=1e-5)
    for i in range(9):
        alone = fit(FitSpec(bootstrap=0), make_runs({**surface(40), "loss": many[i]}))
        assert tables.external(theta[i]) == pytest.approx(alone.theta, rel=1e-5)


@pytest.mark.parametrize("warm", [True, False])
def test_the_number_of_threads_changes_no_digit(warm: bool, compiled: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = replace(compiled if warm else NUMPY, at_once=8)
    monkeypatch.setattr(kernels, "compiled", lambda work: engine)
    runs, found = make_runs(surface(40, 0.02)), []
    for workers in (1, 2, 16):
        with ThreadPoolExecutor(workers) as pool:
            monkeypatch.setattr(threads, "pool", lambda pool=pool: pool)
            found.append(fit(FitSpec(bootstrap=40), runs).resamples)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_stop_is_heard_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = replace(NUMPY, at_once=4)
    monkeypatch.setattr(kernels, "compiled", lambda work: engine)

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(FitSpec(bootstrap=200), make_runs(surface(40, 0.02)), progress=stop)
