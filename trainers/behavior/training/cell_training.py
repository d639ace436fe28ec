"""Training of one recommender: random windows of the log, both stages, evaluations during training, final metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from isoplan.engine.arrays import Ints
from isoplan.trainers import training_loop
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import BACKBONES
from isoplan.trainers.behavior.cell import BehaviorCell, facts_of, name_of
from isoplan.trainers.behavior.checks import check_negatives
from isoplan.trainers.behavior.memory import check_catalogue, memory
from isoplan.trainers.behavior.model.shape import parameters, two_part
from isoplan.trainers.behavior.scores.baselines import kept_baselines, untrained
from isoplan.trainers.behavior.scores.evaluation import (
    check_sampled_negatives,
    evaluate_model,
    sample_windows,
    score_among_negatives,
    shown,
)
from isoplan.trainers.behavior.scores.metrics import Regime
from isoplan.trainers.behavior.training.cell_data import open_data
from isoplan.trainers.behavior.training.trainer import Trainer
from isoplan.trainers.cell import CellError, RunContext
from isoplan.trainers.training_loop import check_memory, memory_of, set_determinism, warm_cosine, whole_batches

POINTS = 200
"""Number of progress reports of a training run, evenly spaced over its training steps."""
TAIL = 100
"""Number of steps at the end of a stage. Their mean loss is the training loss of the stage.

The learning rate with the smallest training loss is selected (behavioural paper, App. D).
"""


class Diverged(CellError):
    """The error for a loss or a weight that is not finite."""


def train(root: Path, cell: BehaviorCell, stream: RunContext) -> Mapping[str, float]:
    """Train and evaluate a cell (one training run) of the workspace ``root``. Return the measured values by name.

    The result contains N, p_e, p, s, D, U and C of the trained model, and all metrics. Raises CellError if the training
    or the embeddings of the catalogue need more memory than available. Raises PlannerError if there are more negatives
    than items, or if the log cannot be read or split.
    """
    if (known := facts_of(root, cell)) is not None:
        check_catalogue(cell, known, memory_of(stream.device))
    data = open_data(root, cell)
    for note in data.notes:
        print(note)
    check_negatives(cell, data.facts)
    check_catalogue(cell, data.facts, memory_of(stream.device))
    check_memory(
        memory(cell, data.facts, stream.device), stream.device, "make its batch, its widths or its negatives smaller"
    )
    check_sampled_negatives(data, cell.rivals)
    set_determinism(cell)
    sized = cell.sized(data.facts)
    steps = (sized.steps, cell.more_steps(data.facts) if cell.stage == 2 else 0)
    trainer = training_loop.make_or_resume(lambda: Trainer(cell, sized.shape, data, stream.device), stream)
    try:
        if trainer.state.stage == 1:
            _stage1(root, trainer, steps, stream)
        if cell.stage == 2:
            if trainer.state.stage == 1:
                torch.manual_seed(cell.seed)
                trainer.freeze()
            _at_rates(trainer, steps, stream)
        return _measured(root, trainer, stream)
    except torch.OutOfMemoryError:
        raise CellError(
            "The GPU has too little memory for this cell: use a smaller batch or fewer negatives."
        ) from None


def _stage1(root: Path, trainer: Trainer, steps: tuple[int, int], stream: RunContext) -> None:
    """Train the whole model in stage 1, or load a stored result of this stage.

    Only a stage 2 cell (training run) loads or stores a result of stage 1. All stage 2 cells of a sweep can thus share
    one result of stage 1.
    """
    cell = trainer.cell
    place = root / BACKBONES / f"{name_of(cell.backbone, trainer.data.fingerprint)}.pt"
    if cell.stage == 2 and trainer.state.updates == 0 and place.exists():
        try:
            trainer.load(place)
            return
        except CellError as error:
            print(f"{error} Stage 1 is trained again.")
    _at_rates(trainer, steps, stream)
    if cell.stage == 2:
        place.parent.mkdir(parents=True, exist_ok=True)
        files.replace(place, trainer.save)


def _at_rates(trainer: Trainer, steps: tuple[int, int], stream: RunContext) -> None:
    """Train the current stage once per learning rate, always starting from the same state.

    Afterwards, the trainer has the state of the training with the smallest loss. Raises CellError if the training
    diverges at every rate.
    """
    rates = trainer.cell.tried_rates
    while len(tried := trainer.state.tried) < len(rates):
        if len(rates) > 1 and not tried and trainer.state.updates == 0:
            trainer.keep("begun")
        try:
            _updates(trainer, steps, rates[len(tried)], stream)
            loss = math.fsum(trainer.tail) / len(trainer.tail)
        except Diverged:
            if len(tried) + 1 == len(rates) and not np.isfinite(tried).any():
                raise
            loss = math.inf
        tried = (*tried, loss)
        kept = int(np.argmin(tried))
        if len(tried) < len(rates):
            if kept == len(tried) - 1:
                trainer.keep("best")
            trainer.go_back("begun")
        elif kept < len(tried) - 1:
            trainer.go_back("best")
        trainer.state = replace(trainer.state, tried=tried, rate=rates[kept])
    trainer.kept = {}


def _updates(trainer: Trainer, steps: tuple[int, int], peak: float, stream: RunContext) -> None:
    """Train the current stage to its end. ``steps`` contains the numbers of steps of stage 1 and stage 2.

    Raises Diverged if a loss or a weight is not finite.
    """
    cell, stage = trainer.cell, trainer.state.stage
    tries = len(cell.tried_rates)
    total = steps[stage - 1]
    before = steps[0] * (stage - 1) * tries + len(trainer.state.tried) * total
    last = stage == cell.stage
    looks = {round(total * (k + 1) / cell.looks) for k in range(cell.looks)} if last else set()
    every = max(sum(steps) * tries // POINTS, 1)
    recent: dict[str, list[Tensor]] = {}
    for chosen in _batches(trainer, trainer.state.updates, total):
        done = trainer.state.updates
        rate = warm_cosine(peak, done, total) if cell.schedule == "cosine" else peak
        for name, value in trainer.update(chosen, rate).items():
            recent.setdefault(name, []).append(value)
        done += 1
        values: dict[str, float] = {}
        due = stream.checkpoint_due
        shown_now = done % every == 0 or done == total or done in looks
        if shown_now or due:
            said = _said(trainer, recent) | ({"rate": peak} if tries > 1 else {})
            values, recent = said if shown_now else {}, {}
        if done in looks or done == total:
            _check_weights(trainer)
        if done in looks:
            windows = sample_windows(trainer.data.judged, cell.seed)
            values |= shown(evaluate_model(trainer, windows, trainer.regime, stream))
        if due:
            stream.save(trainer.save)
        stream.step(before + done, sum(steps) * tries, **values)


def _said(trainer: Trainer, recent: dict[str, list[Tensor]]) -> dict[str, float]:
    """Return the mean losses since the last report, and the number of events and steps of the stage.

    The trainer stores the losses of the last ``TAIL`` steps. Raises Diverged if a loss is not finite.
    """
    losses = {name: torch.stack(values).cpu().double().numpy() for name, values in recent.items()}
    trainer.tail = [*trainer.tail, *losses["train"].tolist()][-TAIL:]
    if "in_batch" in losses:
        trainer.tail_in_batch = [*trainer.tail_in_batch, *losses["in_batch"].tolist()][-TAIL:]
    if not np.isfinite(losses["train"]).all():
        done = trainer.state.updates
        raise Diverged(f"The training diverged after {done:,} training steps: use a smaller learning rate.")
    return {name: float(x.mean()) for name, x in losses.items()} | {
        "samples": float(trainer.state.events),
        "updates": float(trainer.state.updates),
    }


def _check_weights(trainer: Trainer) -> None:
    """Check that all weights are finite. Raises Diverged otherwise.

    The loss of a step is computed before the step changes the weights. A finite loss therefore does not guarantee that
    the weights are finite after the step.
    """
    if not all(bool(weights.isfinite().all()) for weights in trainer.model.parameters()):
        raise Diverged(
            f"The training diverged after {trainer.state.updates:,} training steps: use a smaller learning rate."
        )


def _batches(trainer: Trainer, first: int, total: int) -> Iterator[Ints]:
    """Yield the indices of the training windows of each step, from step number ``first`` up to ``total``."""
    cell = trainer.cell
    return whole_batches(len(trainer.data.train), cell.batch, (cell.seed, trainer.state.stage), first, total)


def _measured(root: Path, trainer: Trainer, stream: RunContext) -> dict[str, float]:
    """Return the metrics, the sizes and the compute of a completed training run by name."""
    cell, state, data = trainer.cell, trainer.state, trainer.data
    p_e, p = parameters(trainer.shape)
    known = kept_baselines(root, data, cell.judge, cell.pool, trainer.regime)
    found = evaluate_model(trainer, data.judged, trainer.regime, stream).row()
    other: Regime = "full" if trainer.regime == "local" else "local"
    of_other = evaluate_model(trainer, data.judged, other, stream).metrics
    found |= {f"{other}_{name}": value for name, value in of_other.items()}
    if cell.rivals:
        found |= score_among_negatives(trainer, data.judged, cell.rivals, stream)
    parts = two_part(trainer.shape, cell.batch, data.facts.t, max(round(data.facts.events), 1), cell.negatives)
    rule = parts.stage1 if cell.stage == 1 else parts.stage2
    sizes = {
        "N": p_e + p, "p_e": p_e, "p": p, "s": p_e / (p_e + p), "D": state.events, "U": data.facts.targets,
        "C": state.flops, "C_step": float(rule.flops(np.asarray(float(p_e + p)), np.asarray(float(state.events)))),
        "h_used": trainer.shape.h, "width_used": trainer.shape.width, "layers_used": trainer.shape.layers,
        "updates": state.updates, "rate_used": state.rate, "events": len(data.log), "catalogue": data.facts.items,
        "train_loss": math.fsum(trainer.tail) / len(trainer.tail),
    }  # fmt: skip
    if trainer.tail_in_batch:
        sizes["train_in_batch"] = math.fsum(trainer.tail_in_batch) / len(trainer.tail_in_batch)
    if cell.stage == 2:
        _, sizes["D_stage1"], sizes["C_stage1"] = state.before
    sizes |= known | {"passes": state.events / data.facts.targets, "untrained": untrained(found, known, trainer.regime)}
    return found | {name: float(value) for name, value in sizes.items()}
