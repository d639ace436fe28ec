"""Training in both stages: identical results after a stop, frozen weights, results, and errors for invalid fields."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from isoplan.engine.errors import PlannerError  # noqa: E402
from isoplan.trainers.behavior.cell import BehaviorCell, facts_of  # noqa: E402
from isoplan.trainers.behavior.family import COLUMNS  # noqa: E402
from isoplan.trainers.behavior.logs.split import pack  # noqa: E402
from isoplan.trainers.behavior.model.shape import parameters, stage1_flops, stage2_flops, two_part  # noqa: E402
from isoplan.trainers.behavior.scores.metrics import METRICS  # noqa: E402
from isoplan.trainers.behavior.training import cell_training  # noqa: E402
from isoplan.trainers.behavior.training.cell_data import open_data  # noqa: E402
from isoplan.trainers.behavior.training.trainer import Trainer, batch_of  # noqa: E402
from isoplan.trainers.cell import CellError, Stopped  # noqa: E402
from tests.trainers.behavior.cells import ONE, TWO, run  # noqa: E402
from tests.trainers.behavior.exact import beliefs, floor, make_exact, popularity_of  # noqa: E402
from tests.trainers.behavior.plain import Plain  # noqa: E402


def batches(cell: BehaviorCell, folder: Path, stage: int) -> list[np.ndarray]:
    """Return the training windows of every step of a stage, from the random numbers that the training uses."""
    windows = len(open_data(folder, cell).train)
    passes = math.ceil(cell.steps * cell.batch / windows)
    rngs = [np.random.default_rng([cell.seed, stage, epoch]) for epoch in range(passes)]
    drawn = np.concatenate([rng.permutation(windows) for rng in rngs])
    return list(drawn[: cell.steps * cell.batch].reshape(cell.steps, cell.batch))


@pytest.mark.parametrize(("cell", "end"), [(ONE, 7), (TWO, 5), (TWO, 19)])
def test_a_stopped_cell_goes_on_to_the_same_digits(cell: BehaviorCell, end: int, tmp_path: Path) -> None:
    whole, _ = run(cell, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(cell, tmp_path / "cut", end=end)
    torch.manual_seed(99)
    rest, stream = run(cell, tmp_path / "cut", resume=tmp_path / "cut" / "checkpoint")
    assert rest == whole
    assert stream.said[0][0] == end + 1


def test_every_batch_is_whole_and_a_pass_holds_every_window_once(tmp_path: Path) -> None:
    cell = ONE.model_copy(update={"batch": 30})
    data = open_data(tmp_path, cell)
    trainer = Trainer(cell, cell.sized(data.facts).shape, data, "cpu")
    found = list(cell_training._batches(trainer, 0, 8))
    assert [len(chosen) for chosen in found] == [30] * 8
    drawn, windows = np.concatenate(found), len(data.train)
    for first in range(0, 240 - windows, windows):
        assert sorted(drawn[first : first + windows]) == list(range(windows))
    rest = list(cell_training._batches(trainer, 5, 8))
    assert all(np.array_equal(a, b) for a, b in zip(rest, found[5:], strict=True))


def test_another_seed_gives_another_row(tmp_path: Path) -> None:
    first, other = (run(ONE.model_copy(update={"seed": s}), tmp_path / str(s))[0] for s in (0, 1))
    assert first["loss"] != other["loss"]
    assert first["N"] == other["N"]


def test_a_finished_cell_counts_itself(tmp_path: Path) -> None:
    found, stream = run(ONE, tmp_path)
    data = open_data(tmp_path, ONE)
    shape, items = ONE.sized(data.facts).shape, data.log.items
    D, C = 0, 0.0
    for chosen in batches(ONE, tmp_path, 1):
        packed = pack(data.train, chosen)
        lengths = np.diff(packed.starts)
        events = np.concatenate([packed.inputs, packed.targets[packed.starts[1:] - 1]])
        D += int(lengths.sum())
        C += stage1_flops(shape, lengths, data.known.lengths[items[events]], len(np.unique(items[packed.targets])))
    p_e, p = parameters(shape)
    assert found["D"] == D
    assert found["C"] == pytest.approx(C, rel=1e-12)
    assert (found["N"], found["p_e"], found["p"], found["s"]) == (p_e + p, p_e, p, p_e / (p_e + p))
    assert found["U"] == sum(max(n - 3, 0) for n in data.log.lengths)
    step = two_part(shape, 16, data.facts.t, round(data.facts.events)).stage1.flops(np.asarray(p_e + p), np.asarray(D))
    assert found["C_step"] == step
    assert found["C"] == pytest.approx(found["C_step"], rel=0.5)
    assert stream.said[-1][0] == 12
    assert {name for name in found if name in METRICS} >= {"recall@10", "full_NDCG@10", "coverage@10", "MRR@10/ctx_3"}
    assert all(math.isfinite(value) for value in found.values())


def test_looks_on_the_way_say_what_curves_are_read_from(tmp_path: Path) -> None:
    found, stream = run(ONE, tmp_path)
    looks = {step: said for step, said in stream.said if "loss" in said}
    assert list(looks) == [6, 12]
    assert looks[12]["recall@10"] == pytest.approx(found["recall@10"])
    assert looks[12]["loss"] == pytest.approx(found["loss"])
    trained = [said["train"] for _, said in stream.said]
    assert found["train_loss"] == pytest.approx(np.mean(trained), rel=1e-6)


@pytest.fixture
def double() -> Iterator[None]:
    """Use double precision.

    In single precision, Adam can amplify a difference in the last digit to a difference in the fifth digit.
    """
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
def test_losses_of_training_are_those_of_a_plain_loop_with_padding(tmp_path: Path) -> None:
    """Torch's layers and cross-entropy give equal losses on equal batches, padded to the longest sequence."""
    cell = ONE.model_copy(update={"dropout": 0.0})
    data = open_data(tmp_path, cell)
    ours, theirs = (Trainer(cell, cell.sized(data.facts).shape, data, "cpu") for _ in range(2))
    model, plain = theirs.model, Plain(theirs.model)
    groups = model.groups(cell.weight_decay)
    inner = {id(w) for w in model.context.layers.parameters()}
    for group, more in zip(groups, (True, False), strict=True):
        kept = [w for w in group["params"] if id(w) not in inner]  # type: ignore[attr-defined]
        group["params"] = kept + [w for w in plain.layers.parameters() if (w.ndim > 1) == more]
    optimiser = torch.optim.AdamW(groups, 0.01)
    losses = []
    for chosen in batches(cell, tmp_path, 1):
        batch = theirs.batch(chosen)
        items = model.embedder(data.known.take(batch.items))
        queries = plain.queries(items[torch.from_numpy(batch.inputs)], batch.lengths)
        scores = queries @ items[torch.from_numpy(batch.candidates)].mT
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(batch.targets))
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        losses.append(float(loss.detach()))
        assert float(ours.update(chosen, 0.01)["train"]) == pytest.approx(losses[-1], abs=1e-9)
    assert losses[-1] < losses[0] - 0.1


def test_stage_2_freezes_the_embedder_and_goes_on(tmp_path: Path) -> None:
    data = open_data(tmp_path, TWO)
    trainer = Trainer(TWO, TWO.sized(data.facts).shape, data, "cpu")
    for chosen in batches(TWO, tmp_path, 1)[:3]:
        trainer.update(chosen, 0.01)
    embedder = {k: v.clone() for k, v in trainer.model.embedder.state_dict().items()}
    context = trainer.model.context.into.weight.clone()
    trainer.freeze()
    assert trainer.cache is not None
    torch.testing.assert_close(trainer.cache, trainer.model.embedder.eval()(data.known).detach())
    said = trainer.update(batches(TWO, tmp_path, 2)[0], 0.01)
    assert said["train"] == pytest.approx(float(said["in_batch"] + said["extra"]) / 2)
    assert all(torch.equal(embedder[k], v) for k, v in trainer.model.embedder.state_dict().items())
    assert not torch.equal(context, trainer.model.context.into.weight)
    assert trainer.state.before[0] == 3


def test_stage_2_counts_itself_and_is_judged_on_the_catalogue(tmp_path: Path) -> None:
    found, stream = run(TWO, tmp_path)
    data = open_data(tmp_path, TWO)
    C, D = 0.0, 0
    for chosen in batches(TWO, tmp_path, 2):
        packed = pack(data.train, chosen)
        items = data.log.items
        batch = batch_of(items[packed.inputs], items[packed.targets], np.diff(packed.starts), packed.inputs)
        D += batch.positions
        C += stage2_flops(TWO.sized(data.facts).shape, batch.lengths, len(batch.candidates), 20)
    assert found["D"] == D
    assert found["C"] == pytest.approx(C, rel=1e-12)
    one, _ = run(ONE, tmp_path / "one")
    assert (found["D_stage1"], found["C_stage1"]) == (one["D"], one["C"])
    assert [step for step, _ in stream.said] == list(range(1, 25))
    assert {"in_batch", "extra"} <= set(stream.said[-1][1])
    shared = [said["in_batch"] for _, said in stream.said[12:]]
    assert found["train_in_batch"] == pytest.approx(np.mean(shared), rel=1e-6)
    assert one["train_in_batch"] == one["train_loss"]
    assert {name for name in COLUMNS.measured if "/ctx_" not in name} <= {*one, *found}
    assert {"recall@10/ctx_5", "loss/ctx_10"} <= {*COLUMNS.measured} & {*found}
    assert set(COLUMNS.curve) <= set(stream.said[-1][1])
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]))
    assert "local_loss" in found
    assert "full_loss" not in found


@pytest.mark.parametrize("softmax", ["mean", "joint"])
def test_items_drawn_in_stage_1_are_embedded_and_counted(softmax: str, tmp_path: Path) -> None:
    """If all items are drawn, the loss ``extra`` or ``joint`` equals the cross-entropy over the whole catalogue.

    The embeddings of the drawn items are trained.
    """
    cell = ONE.model_copy(update={"negatives": 60, "softmax": softmax, "dropout": 0.0})
    data = open_data(tmp_path, cell)
    trainer = Trainer(cell, cell.sized(data.facts).shape, data, "cpu")
    batch = trainer.batch(np.arange(5))
    catalogue = trainer.model.embedder(data.known)
    read = torch.from_numpy(batch.items[batch.inputs])
    scores = trainer.model.context(catalogue[read], batch.lengths) @ catalogue.mT
    targets = torch.from_numpy(batch.items[batch.candidates][batch.targets])
    whole = torch.nn.functional.cross_entropy(scores, targets)
    losses, _ = trainer._losses(batch)
    ours = losses.parts["extra" if softmax == "mean" else "joint"]
    torch.testing.assert_close(ours, whole)
    weights = [w for w in trainer.model.parameters() if w.requires_grad]
    for a, b in zip(*(torch.autograd.grad(x, weights, retain_graph=True) for x in (ours, whole)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-6)
    trainer.update(np.arange(5), 0.01)
    events = np.concatenate([data.log.items[data.train.first[i] : data.train.stop[i]] for i in range(5)])
    tokens = data.known.lengths[np.concatenate([events, np.arange(60)])]
    expected = stage1_flops(trainer.shape, batch.lengths, tokens, len(batch.candidates) + 60)
    assert trainer.state.flops == pytest.approx(expected, rel=1e-12)


def test_a_sweep_of_negatives_trains_stage_1_once(tmp_path: Path) -> None:
    run(TWO, tmp_path)
    cell = TWO.model_copy(update={"negatives": 5, "softmax": "joint", "log_q": False})
    found, stream = run(cell, tmp_path)
    assert stream.said[0][0] == 13
    assert "joint" in stream.said[-1][1]
    assert found == run(cell, tmp_path / "other")[0]


def test_a_short_training_learns_what_the_log_is_made_of(tmp_path: Path) -> None:
    """A short training reaches at least half of the possible improvement over the loss of item popularity.

    The loss cannot be smaller than the exact loss of the process that generated the log.
    """
    fields = {"users": 300, "user_events": 12.0, "items": 40, "h": 16, "width": 32, "length": 16, "batch": 32}
    how = {"steps": 110, "rate": 0.006, "dropout": 0.0, "looks": 0, "log_q": True}
    cell = ONE.model_copy(update={**fields, **how})
    found, _ = run(cell, tmp_path)
    made = make_exact(cell.world)
    judged = open_data(tmp_path, cell).judged.stop - 1
    best = floor(made, beliefs(made), judged)
    popularity = -np.log(popularity_of(made.truth)[made.log.items[judged]])
    assert best.mean() - 3 * best.std() / len(judged) ** 0.5 < found["full_loss"]
    assert found["full_loss"] < (best.mean() + popularity.mean()) / 2


def test_a_log_of_a_folder_leaves_its_facts_and_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "behavior" / "shop"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = [f"u{u} i{i}" for u in range(30) for i in rng.integers(0, 40, 6)] + ["alone i0"]
    (folder / "events.txt").write_text("\n".join(lines))
    cell = ONE.model_copy(update={"data": "shop", "steps": 2, "looks": 0, "rivals": 5})
    found, _ = run(cell, tmp_path)
    assert found["events"] == 181
    said = capsys.readouterr().out  # this output goes to the log of the training run
    assert "1 of 31 users have one event" in said
    assert "The most popular tenth of 39 items has " in said
    assert found["U"] == 30 * 3
    assert 0 < found["hit@10/rivals"] <= 1
    facts = facts_of(tmp_path, cell)
    assert facts is not None
    assert (facts.buckets, facts.targets) == (facts.items, 90)


@pytest.mark.parametrize(("column", "says"), [("kind", ("left", "right")), ("amount", ("0.5", "700"))])
def test_what_changes_from_event_to_event_is_read(column: str, says: tuple[str, str], tmp_path: Path) -> None:
    """The next item depends on a feature of the event, not on the item of the event.

    A model that reads the column of the feature can predict the next item. A model without this column can only guess.
    """
    folder = tmp_path / "behavior" / "shop"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = [f"user,item,time,{column}"]
    for user in range(100):
        says_next = rng.integers(0, 2, 8)
        items = [0, *says_next[:-1]]
        lines += [f"u{user},i{i},{time},{says[s]}" for time, (i, s) in enumerate(zip(items, says_next, strict=True))]
    (folder / "events.csv").write_text("\n".join(lines))
    cell = ONE.model_copy(update={"data": "shop", "steps": 60, "looks": 0, "dropout": 0.0, "length": 8})
    found, _ = run(cell, tmp_path)
    assert found["full_loss"] < 0.1
    facts = facts_of(tmp_path, cell)
    assert facts is not None
    assert (facts.event_categories, facts.event_numbers) == (((3,), 0) if column == "kind" else ((), 1))
    p_e, p = parameters(cell.sized(facts).shape)
    assert found["N"] == p_e + p == sum(w.numel() for w in counted(cell, tmp_path))
    (folder / "columns.toml").write_text(f'[events]\nleave = ["{column}"]\n')
    blind, _ = run(cell, tmp_path)
    assert blind["full_loss"] == pytest.approx(math.log(2), abs=0.1)


def counted(cell: BehaviorCell, folder: Path) -> list[Any]:
    """Return the weights that N counts: all weights except the lookup tables."""
    data = open_data(folder, cell)
    model = Trainer(cell, cell.sized(data.facts).shape, data, "cpu").model
    tables = {id(table) for table in model.embedder.tables()}
    return [weights for weights in model.parameters() if id(weights) not in tables]


@pytest.mark.parametrize(
    ("fields", "error", "sentence"),
    [
        ({"stage": 2, "negatives": 61}, PlannerError, "K = 61 extra negatives are more than the 60 items"),
        ({"rivals": 70}, PlannerError, "70 candidates cannot be drawn from a catalogue of 60 items"),
        ({"batch": 81}, PlannerError, "synthetic has 77 sequences to train on, but the batch has 81"),
        (
            {"width": 16_384, "layers": 256},
            CellError,
            r"takes about [\d,]+ GB of memory, but there are only",
        ),
        ({"h": 4096, "items": 10**8}, CellError, "embeddings of 100,000,000 items at h = 4096 take 1,638 GB"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(
    fields: dict[str, object], error: type[Exception], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fields.get("items"):
        monkeypatch.setattr(
            cell_training, "open_data", lambda *_: pytest.fail("the log is made before it is known to fit")
        )
        monkeypatch.setattr(cell_training, "memory_of", lambda _: 64e9)
    with pytest.raises(error, match=sentence):
        run(ONE.model_copy(update=fields), tmp_path)


def test_divergence_is_one_sentence(tmp_path: Path) -> None:
    data = open_data(tmp_path, ONE)
    trainer = Trainer(ONE, ONE.sized(data.facts).shape, data, "cpu")
    with pytest.raises(CellError, match=r"diverged after .* training steps: use a smaller learning rate"):
        cell_training._said(trainer, {"train": [torch.tensor(math.nan)]})


def test_a_damaged_checkpoint_or_backbone_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, _ = run(TWO, tmp_path / "whole")
    for kept in (tmp_path / "whole" / "backbones").iterdir():
        kept.write_bytes(b"no weights")
    (tmp_path / "checkpoint").write_bytes(b"no checkpoint")
    found, _ = run(TWO, tmp_path / "whole", resume=tmp_path / "checkpoint")
    assert found == whole
    said = capsys.readouterr().out
    assert "The checkpoint cannot be used" in said
    assert "Stage 1 is trained again." in said
