"""FLOPs compared with torch's counter, with hand counts, and with eq. 1 of the behavioural paper.

Torch counts the FLOPs of a plain torch model and of Isoplan's model.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from isoplan.trainers.behavior.model.losses import draw, in_batch, sampled  # noqa: E402
from isoplan.trainers.behavior.model.shape import (  # noqa: E402
    Fields,
    Shape,
    context_flops,
    embedding_flops,
    parameters,
    scoring_flops,
    stage1_flops,
    stage2_flops,
    two_part,
)
from isoplan.trainers.behavior.model.two_part import TwoPartModel  # noqa: E402
from isoplan.trainers.behavior.training.trainer import batch_of  # noqa: E402
from isoplan.trainers.packed.rectangles import lay_out  # noqa: E402
from tests.trainers.behavior.plain import Plain, random_known  # noqa: E402

SHAPES = (
    Shape(Fields(30, (4, 7), 3), h=16, width=32, layers=2, text_layers=2, length=16),
    Shape(Fields(buckets=30), h=24, width=24, layers=3, length=16),
    Shape(Fields(30, (4, 7)), h=8, width=128, layers=1, text_layers=1, length=16),
)
OF_EVENTS = Shape(Fields(30, event_categories=(3, 2), event_numbers=40), h=16, width=16, layers=1, length=16)
LENGTHS = np.array([5, 5])


def label(shape: Shape) -> str:
    return f"h{shape.h}d{shape.width}"


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_the_flops_of_a_step_are_those_that_torch_counts(shape: Shape) -> None:
    """In stage 1 (eq. 1), each event of the batch is embedded and scored against the unique targets."""
    plain = Plain(TwoPartModel(shape))
    rng = np.random.default_rng(0)
    known = random_known(rng, 12, ids=shape.fields.buckets)
    events = rng.permutation(12).reshape(2, 6)
    unique = np.unique(events[:, 1:])
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        embedded = plain.embed(known)
        queries = plain.queries(embedded[torch.from_numpy(events[:, :-1].ravel())], LENGTHS)
        scores = queries @ embedded[torch.from_numpy(unique)].mT
        torch.autograd.backward(F.cross_entropy(scores, torch.arange(10) % len(unique)))
    tokens = known.lengths if shape.fields.vocabulary else np.zeros(12)
    ours = stage1_flops(shape, LENGTHS, tokens, len(unique))
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize("shape", [*SHAPES, OF_EVENTS], ids=label)
def test_what_our_model_computes_is_what_torch_counts(shape: Shape) -> None:
    """Isoplan's model embeds each distinct item once, and also computes padding."""
    model, rng = TwoPartModel(shape), np.random.default_rng(1)
    known = random_known(rng, 30, ids=shape.fields.buckets)
    lengths = rng.integers(1, 17, 40)
    inputs, targets = rng.integers(0, 30, (2, lengths.sum()))
    batch = batch_of(inputs, targets, lengths, np.arange(lengths.sum()))
    kinds, amounts = beside(shape, rng, lengths.sum())
    with FlopCounterMode(display=False) as counter:
        items = model.embedder(known.take(batch.items))
        read = model.embedder.beside(items[torch.from_numpy(batch.inputs)], kinds, amounts)
        queries = model.context(read, lengths)
        embeddings = items[torch.from_numpy(batch.candidates)]
        torch.autograd.backward(in_batch(queries, embeddings, torch.from_numpy(batch.targets), chunk=1000))
    some = known.lengths[known.lengths > 0]
    texts = padded(some) if shape.fields.vocabulary else np.zeros(30)
    merged = embedding_flops(shape, np.zeros(30 - len(texts)))
    ours = embedding_flops(shape, texts) + merged + context_flops(shape, padded(lengths))
    ours -= 4 * shape.fields.event_numbers * shape.h * (padded(lengths).sum() - lengths.sum())
    # The model computes padding only in its layers. For padded lengths, the formula also counts padding in the
    # projections before and after the layers. These FLOPs are ``ends`` and are subtracted.
    ends = 6 * shape.h * shape.width * 2 * (padded(lengths).sum() - lengths.sum())
    ours += scoring_flops(shape.h, lengths.sum(), len(batch.candidates)) - ends
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize("K", [0, 20])
@pytest.mark.parametrize("shape", [SHAPES[0], OF_EVENTS], ids=label)
def test_stage_2_is_what_torch_counts(K: int, shape: Shape) -> None:
    """Embeddings from the cache cost no FLOPs.

    The scores of cached items need two matrix products: one in the forward pass, one for the gradient of the query.
    """
    rng = np.random.default_rng(2)
    model, cache = TwoPartModel(shape), torch.randn(30, shape.h)
    model.embedder.requires_grad_(False)
    kinds, amounts = beside(shape, rng, LENGTHS.sum())
    inputs, targets = rng.integers(0, 30, (2, LENGTHS.sum()))
    batch = batch_of(inputs, targets, LENGTHS, np.arange(LENGTHS.sum()))
    candidates, own = (torch.from_numpy(x) for x in (batch.items[batch.candidates], batch.targets))
    drawn = draw(30, K, candidates, own, torch.Generator())
    with FlopCounterMode(display=False) as counter:
        read = model.embedder.beside(cache[torch.from_numpy(batch.items[batch.inputs])], kinds, amounts)
        queries = model.context(read, LENGTHS)
        torch.autograd.backward(sampled(queries, cache, candidates, own, drawn, chunk=500).total)
    ours = stage2_flops(shape, LENGTHS, len(batch.candidates), K)
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.02)


def beside(shape: Shape, rng: np.random.Generator, events: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the categories and the numbers of ``events`` random events. A category is a row of the category table."""
    kinds = rng.integers(0, sum(shape.fields.event_categories) or 1, (events, len(shape.fields.event_categories)))
    return kinds, rng.standard_normal((events, shape.fields.event_numbers), np.float32)


def padded(lengths: np.ndarray) -> np.ndarray:
    """Return the number of tokens of each sequence, including its padding.

    ``lay_out`` divides the sequences into groups (rectangles) and pads all sequences of a group to one length.
    """
    layout = lay_out(lengths)
    return np.concatenate([np.full(r.members.stop - r.members.start, r.tokens) for r in layout.rectangles])


def test_a_step_by_hand() -> None:
    shape = Shape(Fields(vocabulary=10, numbers=3), h=4, width=8, layers=2, text_layers=1, length=16)
    embedded = 6 * (12 * 16 * 5 + 2 * 4 * 25 + 8 * 16) + 6 * 8 * 16 + 2 * 4 * 3 * 4
    context = 6 * (2 * (12 * 64 * 3 + 2 * 8 * 9) + 2 * 4 * 8 * 3)
    assert embedding_flops(shape, [5, 0]) == embedded
    assert context_flops(shape, [3]) == context
    assert stage1_flops(shape, [3], [5, 0], 7) == embedded + context + 6 * 4 * 3 * 7
    assert stage2_flops(shape, [3], 7, 100) == context - 2 * 4 * 8 * 3 + 4 * 4 * 3 * 107


def test_beside_attention_the_count_is_that_of_eq_1_with_other_scoring() -> None:
    """The count for D events, without attention, is 6 D (t (p_e - f) + f + p + B L h).

    f is the number of weights of the feed-forward layer. The t words of an item are averaged before this layer, so it
    counts once. Eq. 1 has the terms t p_e and 3 B L h instead.
    """
    shape = Shape(Fields(vocabulary=1000), h=188, width=452, layers=24, text_layers=8)
    B, L, t, h = 4, 256, 24, 188
    p_e, p = parameters(shape)
    ours = stage1_flops(shape, np.full(B, L), np.full(B * L, t), B * L)
    attention = 24 * 2 * 452 * L + 8 * 2 * h * t**2
    without = t * (p_e - 8 * h**2) + 8 * h**2 + p + B * L * h
    assert ours == pytest.approx(6 * B * L * (without + attention), rel=0.02)
    eq_1 = two_part(shape, B, t, L).stage1.flops(np.asarray(float(p_e + p)), np.asarray(float(B * L)))
    assert eq_1 == pytest.approx(6 * B * L * (t * p_e + p + 3 * B * L * h))


@pytest.mark.parametrize("K", [0, 10**6])
def test_the_planner_s_stage_2_is_what_a_large_cell_costs(K: int) -> None:
    """The count is D (6 p + 4 (B L + K) h), without attention and without the gradient of frozen inputs."""
    shape = Shape(Fields(vocabulary=1000), h=188, width=452, layers=24, text_layers=8)
    B, L = 64, 256
    parts = two_part(shape, B, 24, L, K)
    ours = stage2_flops(shape, np.full(B, L), B * L, K) - 6 * B * L * 24 * 2 * 452 * L
    rule = parts.stage2.flops(np.asarray(float(sum(parameters(shape)))), np.asarray(float(B * L)))
    assert ours == pytest.approx(float(rule), rel=0.02)


def test_counting_and_sizing_need_no_torch() -> None:
    code = "import sys, isoplan.trainers.behavior.sizing, isoplan.trainers.behavior.model.item_features; "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
