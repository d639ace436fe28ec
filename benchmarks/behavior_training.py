"""Training speed of the recommender on packed sequences, compared with a PyTorch loop that pads sequences."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.report import Report, ms
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.model.item_features import Known
from isoplan.trainers.behavior.model.shape import stage1_flops
from isoplan.trainers.behavior.training.cell_data import open_data
from isoplan.trainers.behavior.training.trainer import Trainer
from tests.trainers.behavior.plain import Plain

LOG = BehaviorCell(users=4000, items=5000, user_events=20, dropout=0, weight_decay=0, rate=1e-3, layers=2, h=16)
CELLS: dict[str, dict[str, float]] = {
    "items with text, d = 64": {},
    "items with text, d = 128": {"width": 128, "layers": 4, "h": 32},
    "long histories": {"length": 200},
    "short histories, B = 256": {"user_events": 8.0, "batch": 256},
}
STEPS = 20


class PaddedLoop:
    """The recommender's model and loss in plain PyTorch. Texts and sequences are padded to the longest of the batch."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.plain = trainer, Plain(trainer.model)
        self.model = trainer.model
        weights = {id(w): w for layers in self._layers() for w in layers.parameters()}
        replaced = {id(w) for layers in self._packed() for w in layers.parameters()}
        weights |= {id(w): w for w in self.model.parameters() if id(w) not in replaced}
        self.optimiser = torch.optim.AdamW(list(weights.values()), trainer.cell.peak_rate, weight_decay=0.0, fused=True)

    def step(self, chosen: np.ndarray) -> float:
        """Make one training step on the batch of the sequences ``chosen``, and return the loss before the step."""
        batch = self.trainer.batch(chosen)
        items = self.embed(self.trainer.data.known.take(batch.items))
        queries = self.plain.queries(items[torch.from_numpy(batch.inputs)], batch.lengths)
        scores = queries @ items[torch.from_numpy(batch.candidates)].mT
        loss = F.cross_entropy(scores, torch.from_numpy(batch.targets))
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        self.optimiser.step()
        return loss.item()

    def embed(self, known: Known) -> Tensor:
        """Embed each distinct item of the batch once and return the embeddings (items, h).

        The words of each item are padded to the length of the longest text.
        """
        e = self.plain.embedder
        lengths = torch.from_numpy(known.lengths)
        there = torch.arange(int(lengths.max())) < lengths[:, None]
        words = torch.zeros(there.shape, dtype=torch.int64)
        words[there] = torch.from_numpy(known.words.astype(np.int64))
        assert e.words is not None
        assert e.text is not None
        assert e.numbers is not None
        assert e.categories is not None
        x = self.plain.text(e.words(words) + e.text.positions[: there.shape[1]], src_key_padding_mask=~there)
        x = (x * there[..., None]).sum(1) / lengths[:, None]
        x = x + e.categories(torch.from_numpy(known.categories)).sum(1) + e.numbers(torch.from_numpy(known.numbers))
        return e.norm2(x + e.linear2(F.gelu(e.linear1(e.norm1(x)))))

    def _layers(self) -> tuple[torch.nn.Module, ...]:
        return self.plain.layers, self.plain.text

    def _packed(self) -> tuple[torch.nn.Module, ...]:
        text = self.model.embedder.text
        assert text is not None
        return self.model.context.layers, text.layers


def run() -> Report:
    """Train both models on the same batches and on one thread, alternating after each step, and report their times."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = tuple(_row(name, LOG.model_copy(update=fields)) for name, fields in CELLS.items())
    finally:
        torch.set_num_threads(threads)
    return Report(
        "Recommender cells: packed against padded",
        f"Median processor time of {STEPS} steps of AdamW in stage 1, on one CPU thread and on batches of a synthetic "
        "log, without dropout. Packed: Isoplan's model on packed sequences. Padded: nn.TransformerEncoder, with "
        "padding to the longest sequence and text of the batch. Both start from the same weights and embed each "
        "distinct item once. Goals: 1.3 times the events/s, and losses that agree within 1e-5 at every step.",
        ("cell", "packed", "padded", "ratio", "events/s", "filled", "largest difference of losses", "GFLOP/s"),
        rows,
    )


def _row(name: str, cell: BehaviorCell) -> tuple[str, ...]:
    data = open_data(Path(), cell)
    shape = cell.sized(data.facts).shape
    ours, theirs = (Trainer(cell, shape, data, "cpu") for _ in range(2))
    plain = PaddedLoop(theirs)
    rng = np.random.default_rng(0)
    found, flops, events, filled = [], [], [], []
    for _ in range(STEPS):
        chosen = rng.choice(len(data.train), cell.batch, replace=False)
        batch = ours.batch(chosen)
        began = time.thread_time()
        loss = ours.update(chosen, cell.peak_rate)["train"].item()
        between = time.thread_time()
        other = plain.step(chosen)
        found.append((between - began, time.thread_time() - between, abs(loss - other)))
        events.append(batch.positions)
        filled.append(batch.positions / (len(batch.lengths) * batch.lengths.max()))
        words = data.known.lengths[batch.items[np.concatenate([batch.inputs, batch.candidates])]]
        flops.append(stage1_flops(shape, batch.lengths, words, len(batch.candidates)))
    ours_s, theirs_s, apart = (np.array(column) for column in zip(*found, strict=True))
    packed, padded = median(ours_s), median(theirs_s)
    return (
        name, ms(packed), ms(padded), f"{padded / packed:.1f}", f"{np.mean(events) / packed:,.0f}",
        f"{100 * np.mean(filled):.0f} %", f"{apart.max():.0e}", f"{np.mean(flops) / packed / 1e9:.0f}",
    )  # fmt: skip
