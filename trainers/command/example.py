"""The bundled example program. An MLP (the student) learns a fixed random MLP (the teacher) from noisy labels.

The program uses only numpy. The lowest possible loss is known: it is the variance of the label noise. Inputs are
Gaussian. The teacher has two hidden layers of 64 GELU neurons, and its output has unit variance. The student has two
hidden layers of ``width`` neurons. The student is trained by Adam with a cosine schedule and sees every sample once.
The loss is the variance of the noise plus the mean squared difference between student and teacher on fixed test inputs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats

TEACHER, TEACHER_SEED, TESTS = 64, 20_260_101, 4096
STEEP, CUBIC = np.sqrt(2 / np.pi), 0.044715
BETAS, EPS = (0.9, 0.999), 1e-8
SAVE_EVERY, SAY_EVERY = 2.0, 0.25
"""Seconds between two checkpoints, and seconds between two output lines."""

ending = False


def gelu(x: Floats) -> tuple[Floats, Floats]:
    """Return GELU(x) in its tanh approximation (Hendrycks and Gimpel 2016, sec. 2), and its derivative."""
    t = np.tanh(STEEP * (x + CUBIC * x * x * x))
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * STEEP * (1 + 3 * CUBIC * x * x)


def network(rng: np.random.Generator, dim: int, width: int) -> list[Floats]:
    """Return random weights and zero biases of an MLP with two hidden layers and one linear output."""
    shapes = [(dim, width), (width, width), (width, 1)]
    return [x for shape in shapes for x in (rng.normal(0, 1 / np.sqrt(shape[0]), shape), np.zeros(shape[1]))]


def forward(p: list[Floats], x: Floats) -> Floats:
    """Return the output (n,) of an MLP with the parameters ``p`` for inputs ``x`` (n, dim)."""
    return ((gelu(gelu(x @ p[0] + p[1])[0] @ p[2] + p[3])[0]) @ p[4] + p[5])[:, 0]


def gradient(p: list[Floats], x: Floats, y: Floats) -> tuple[float, list[Floats]]:
    """Return the mean squared error of an MLP with the parameters ``p``, and its gradient with respect to ``p``."""
    a, slope_a = gelu(x @ p[0] + p[1])
    b, slope_b = gelu(a @ p[2] + p[3])
    off = (b @ p[4] + p[5])[:, 0] - y
    out = (2 / len(y)) * off[:, None]
    at_b = (out @ p[4].T) * slope_b
    at_a = (at_b @ p[2].T) * slope_a
    found = [x.T @ at_a, at_a.sum(0), a.T @ at_b, at_b.sum(0), b.T @ out, out.sum(0)]
    return float(np.mean(off**2)), found


class Teacher:
    """The target function: a random MLP whose output has mean 0 and variance 1 on the test inputs."""

    def __init__(self, dim: int) -> None:
        rng = np.random.default_rng(TEACHER_SEED)
        self.weights = network(rng, dim, TEACHER)
        self.tests = rng.normal(size=(TESTS, dim))
        out = forward(self.weights, self.tests)
        self.mean, self.scale = out.mean(), out.std()
        self.answers = (out - self.mean) / self.scale

    def __call__(self, x: Floats) -> Floats:
        return (forward(self.weights, x) - self.mean) / self.scale


def learning_rate(cell: dict[str, Any], updates: int) -> float:
    """Return the peak learning rate: the cell's value or, if it is 0, a power law of width and steps (``updates``)."""
    return float(cell["rate"] or 0.0054 * (cell["width"] / 64) ** -0.37 * (updates / 2048) ** -0.6)


def main() -> None:
    """Read a cell from standard input, train it, and write metrics as JSON lines."""
    given = json.loads(sys.stdin.readline())
    cell, place = given["cell"], Path(given["checkpoint"])
    signal.signal(signal.SIGTERM, _end)
    teacher = Teacher(cell["dim"])
    updates = max(cell["samples"] // cell["batch"], 1)
    p = network(np.random.default_rng([cell["seed"], 0]), cell["dim"], cell["width"])
    moments = [np.zeros_like(x) for x in (*p, *p)]
    first = 0
    if given["resume"]:
        try:
            first, p, moments = _load(Path(given["resume"]), p, moments)
        except Exception as error:  # numpy and zipfile raise various errors
            print(f"The checkpoint cannot be read ({error}). The cell begins again.", file=sys.stderr)
    peak, floor = learning_rate(cell, updates), cell["noise"] ** 2
    saved = said = time.monotonic()
    for step in range(first, updates):
        rng = np.random.default_rng([cell["seed"], 1, step])
        x = rng.normal(size=(cell["batch"], cell["dim"]))
        y = teacher(x) + cell["noise"] * rng.normal(size=cell["batch"])
        train, slopes = gradient(p, x, y)
        rate = peak * min((step + 1) / max(updates // 50, 1), 0.5 * (1 + np.cos(np.pi * step / updates)))
        _adam(p, moments, slopes, rate, step + 1)
        now = time.monotonic()
        if now - said > SAY_EVERY or step in (first, updates - 1):
            said = now
            clean = float(np.mean((forward(p, teacher.tests) - teacher.answers) ** 2))
            seen = (step + 1) * cell["batch"]
            _say({"step": step + 1, "total": updates, "loss": clean + floor, "train": train, "samples": seen})
        if now - saved > SAVE_EVERY or ending:
            saved = now
            _save(place, step + 1, p, moments)
            if ending:
                sys.exit(0)
    clean = float(np.mean((forward(p, teacher.tests) - teacher.answers) ** 2))
    _say({"result": {"loss": clean + floor, "clean": clean, "D": updates * cell["batch"]}})


def _adam(p: list[Floats], moments: list[Floats], slopes: list[Floats], rate: float, step: int) -> None:
    """Change ``p`` and ``moments`` in place by one step of Adam (Kingma and Ba 2014, algorithm 1).

    ``slopes`` is the gradient, ``rate`` the learning rate, and ``step`` the number of the step from 1.
    """
    half = len(p)
    for i, slope in enumerate(slopes):
        m, v = moments[i], moments[half + i]
        m += (1 - BETAS[0]) * (slope - m)
        v += (1 - BETAS[1]) * (slope * slope - v)
        p[i] -= rate * (m / (1 - BETAS[0] ** step)) / (np.sqrt(v / (1 - BETAS[1] ** step)) + EPS)


def _load(place: Path, p: list[Floats], moments: list[Floats]) -> tuple[int, list[Floats], list[Floats]]:
    """Return the number of steps, the parameters and the moments of Adam from a checkpoint.

    Raises ValueError if their shapes differ from those of ``p`` and ``moments``.
    """
    with np.load(place, allow_pickle=False) as kept:
        step = int(kept["step"])
        weights = [kept[f"p{i}"] for i in range(len(p))]
        sums = [kept[f"m{i}"] for i in range(len(moments))]
    if [x.shape for x in (*weights, *sums)] != [x.shape for x in (*p, *moments)]:
        raise ValueError("it belongs to another cell")
    return step, weights, sums


def _save(place: Path, step: int, p: list[Floats], moments: list[Floats]) -> None:
    beside = place.with_name(f".tmp-{os.getpid()}-{place.name}.npz")
    kept = {f"p{i}": x for i, x in enumerate(p)} | {f"m{i}": x for i, x in enumerate(moments)}
    np.savez(beside, step=step, **kept)  # type: ignore[arg-type]
    beside.replace(place)


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def _end(*_: object) -> None:
    global ending
    ending = True


if __name__ == "__main__":
    main()
