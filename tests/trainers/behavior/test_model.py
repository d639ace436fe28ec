"""Embedder and contextualiser compared with torch's padded layers.

Some changes of the input must not change a logit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from isoplan.trainers.behavior.model.item_features import Known  # noqa: E402
from isoplan.trainers.behavior.model.shape import Fields, Shape, parameters, vocabulary_parameters  # noqa: E402  # noqa: E402
from isoplan.trainers.behavior.model.two_part import TwoPartModel  # noqa: E402
from isoplan.trainers.behavior.training.trainer import batch_of  # noqa: E402
from tests.trainers.behavior.plain import Plain, random_known  # noqa: E402

FULL = Shape(Fields(30, (4, 7), 3), h=12, width=20, layers=2, text_layers=1, length=16)
IDS = Shape(Fields(buckets=50), h=8, width=128, layers=1, length=16)
EVERYTHING = Shape(Fields(30, (4, 7), 3, 50), h=16, width=16, layers=3, text_layers=2, length=16)
LENGTHS = np.array([3, 16, 1, 7, 7, 12, 2, 16, 5])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def loud(shape: Shape, seed: int = 1) -> TwoPartModel:
    """Return a model with large weights and biases. Every event of a history then affects the later positions."""
    torch.manual_seed(seed)
    model = TwoPartModel(shape)
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn(weights.shape) * 0.2)
    return model


def known_for(shape: Shape, items: int = 40, seed: int = 0) -> Known:
    return random_known(np.random.default_rng(seed), items, ids=shape.fields.buckets)


def logits(model: TwoPartModel, known: Known, items: np.ndarray, lengths: np.ndarray) -> Tensor:
    """Return the scores (P, catalogue) of every item at every position."""
    catalogue = model.embedder(known)
    return model.context(catalogue[torch.from_numpy(items)], lengths) @ catalogue.mT


@pytest.mark.parametrize("shape", [FULL, IDS, EVERYTHING], ids=lambda s: f"h{s.h}d{s.width}")
def test_parameters_are_those_counted_by_hand(shape: Shape) -> None:
    model = TwoPartModel(shape)
    h, d, f = shape.h, shape.width, shape.fields
    layer = {w: 2 * 2 * w + (3 * w * w + 3 * w) + (w * w + w) + (4 * w * w + 4 * w) + (4 * w * w + w) for w in (h, d)}
    text = 24 * h + shape.text_layers * layer[h] if f.vocabulary else 0
    by_hand = (
        text + (4 * h if f.numbers else 0) + 4 * h + (4 * h * h + 4 * h) + (4 * h * h + h),
        (h * d + d) + 16 * d + shape.layers * layer[d] + 2 * d + (d * h + h),
    )
    tables = (f.vocabulary + sum(f.categories) + f.buckets) * h
    assert parameters(shape) == by_hand
    assert vocabulary_parameters(shape) == tables == sum(t.numel() for t in model.embedder.tables())
    assert sum(w.numel() for w in model.embedder.parameters()) == by_hand[0] + tables
    assert sum(w.numel() for w in model.context.parameters()) == by_hand[1]


@pytest.mark.parametrize("shape", [FULL, IDS, EVERYTHING], ids=lambda s: f"h{s.h}d{s.width}")
def test_logits_and_gradients_are_those_of_torch_with_padding(shape: Shape) -> None:
    model = loud(shape).double()
    plain, known = Plain(model), known_for(shape)
    items = np.random.default_rng(1).integers(0, 40, LENGTHS.sum())
    ours = logits(model, known, items, LENGTHS)
    catalogue = plain.embed(known)
    torch.testing.assert_close(model.embedder(known), catalogue, rtol=1e-9, atol=1e-10)
    theirs = plain.queries(catalogue[torch.from_numpy(items)], LENGTHS, 3) @ catalogue.mT
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)
    along = torch.randn_like(ours)
    torch.autograd.backward((ours * along).sum())
    own = {name: w.grad for name, w in model.named_parameters()}
    inner = [w.grad for w in model.context.layers.parameters()]
    model.zero_grad(set_to_none=True)
    torch.autograd.backward((theirs * along).sum())
    for mine, his in zip(inner, plain.layers.layers.parameters(), strict=True):
        torch.testing.assert_close(mine, his.grad, rtol=1e-8, atol=1e-9)
    for name, weights in model.named_parameters():
        if ".layers." not in name:
            torch.testing.assert_close(own[name], weights.grad, rtol=1e-8, atol=1e-9, msg=name)


def test_the_future_and_other_sequences_and_their_order_change_no_logit() -> None:
    model, known = loud(FULL).eval(), known_for(FULL)
    rng = np.random.default_rng(2)
    items = rng.integers(0, 40, LENGTHS.sum())
    parts = np.split(items, np.cumsum(LENGTHS)[:-1])
    with torch.no_grad():
        whole = torch.split(logits(model, known, items, LENGTHS), LENGTHS.tolist())
        assert min(part[-1].std() for part in whole) > 0.1
        for part, found in zip(parts, whole, strict=True):
            alone = logits(model, known, part, np.array([len(part)]))
            torch.testing.assert_close(alone, found, rtol=1e-5, atol=1e-5)
            for cut in range(1, len(part)):
                before = logits(model, known, part[:cut], np.array([cut]))
                torch.testing.assert_close(before, found[:cut], rtol=1e-5, atol=1e-5)
        order = rng.permutation(len(LENGTHS))
        moved = logits(model, known, np.concatenate([parts[i] for i in order]), LENGTHS[order])
        expected = torch.cat([whole[i] for i in order])
        torch.testing.assert_close(moved, expected, rtol=1e-5, atol=1e-5)


def test_a_position_sees_all_of_its_past() -> None:
    model = loud(FULL).double()
    events = torch.randn(16, FULL.h, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(model.context(events, np.array([16]))[9].sum(), events)
    seen = grad.abs().sum(1)
    assert (seen[:10] > 1e-6).all()
    assert (seen[10:] == 0).all()


def test_an_item_is_embedded_alike_whatever_is_beside_it() -> None:
    model, known = loud(EVERYTHING).eval(), known_for(EVERYTHING)
    rng = np.random.default_rng(3)
    some = rng.permutation(40)[:13]
    with torch.no_grad():
        whole = model.embedder(known)
        torch.testing.assert_close(model.embedder(known.take(some)), whole[some], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(model.embedder.all(known), whole)
        none = np.flatnonzero(known.lengths == 0)[:1]
        assert model.embedder(known.take(none)).isfinite().all()


def test_a_batch_names_its_items_and_targets_once() -> None:
    rng = np.random.default_rng(4)
    inputs, targets = rng.integers(0, 30, LENGTHS.sum()), rng.integers(20, 50, LENGTHS.sum())
    batch = batch_of(inputs, targets, LENGTHS, np.arange(LENGTHS.sum()))
    assert (batch.items[batch.inputs] == inputs).all()
    assert (batch.items[batch.candidates][batch.targets] == targets).all()
    assert batch.items.tolist() == sorted({*inputs, *targets})
    assert batch.items[batch.candidates].tolist() == sorted(set(targets))
    assert batch.positions == LENGTHS.sum()
    with pytest.raises(ValueError, match="68 inputs, 69 targets"):
        batch_of(inputs[1:], targets, LENGTHS, np.arange(LENGTHS.sum()))


def test_only_matrices_of_layers_decay() -> None:
    model = TwoPartModel(EVERYTHING)
    decays, others = model.groups(0.1)
    names = {id(w): name for name, w in model.named_parameters()}
    kept = {names[id(w)] for w in others["params"]}  # type: ignore[attr-defined]
    assert (decays["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert {"embedder.words.weight", "embedder.ids.weight", "context.positions", "embedder.text.positions"} <= kept
    assert all(name.endswith(("bias", "norm1.weight", "norm2.weight", "norm.weight")) for name in kept - {
        "embedder.words.weight", "embedder.ids.weight", "embedder.categories.weight", "context.positions",
        "embedder.text.positions",
    })  # fmt: skip
    assert len(decays["params"]) + len(kept) == len(names)  # type: ignore[arg-type]


@pytest.mark.parametrize("lengths", [[0, 3], [17]])
def test_sequences_of_no_event_or_too_many_are_refused(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="not of 1 to 16"):
        TwoPartModel(FULL).context(torch.zeros(sum(lengths), FULL.h), np.array(lengths))


def test_dropout_is_of_training_only() -> None:
    shape = Shape(FULL.fields, 12, 20, 2, 1, 16, dropout=0.3)
    model = loud(shape)
    events = torch.randn(5, 12)
    with torch.no_grad():
        model.eval()
        torch.testing.assert_close(model.context(events, np.array([5])), model.context(events, np.array([5])))
        model.train()
        assert not torch.equal(model.context(events, np.array([5])), model.context(events, np.array([5])))


def test_dropout_takes_its_share_of_the_vectors_of_items() -> None:
    """Dropout divides the remaining components by 1 - p.

    The mean over many draws then equals the vector without dropout.
    """
    model, known = loud(Shape(IDS.fields, 8, 16, 1, 1, 16, dropout=0.3)), known_for(IDS)
    with torch.no_grad():
        whole = model.eval().embedder(known)
        drawn = torch.stack([model.train().embedder(known) for _ in range(2000)])
    assert (drawn == 0).double().mean().item() == pytest.approx(0.3, abs=0.002)
    kept = drawn != 0
    torch.testing.assert_close(drawn[kept], (whole / 0.7).expand_as(drawn)[kept])
