"""Training losses and gradients of the set Transformer equal those of torch's padded Transformer.

Some changes of the input must not change a logit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from isoplan.trainers.jets.cell import Shape
from isoplan.trainers.jets.model import SetTransformer, loss_of
from tests.trainers.jets.plain import Plain, pad, random_batch

SMALL = Shape(3, 8, layers=2, heads=2, hidden=12, classes=10, dropout=0)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def model_of(shape: Shape, seed: int = 1) -> SetTransformer:
    torch.manual_seed(seed)
    return SetTransformer(shape)


def loud(shape: Shape, seed: int = 1) -> SetTransformer:
    """Return a model with large weights and biases. Every token of a jet then affects its logits."""
    model = model_of(shape, seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn(weights.shape) * 0.3)
    return model


def plain_of(model: SetTransformer) -> Plain:
    plain = Plain(model.shape)
    plain.load_state_dict(model.state_dict())
    return plain


def with_edges(batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch with two more jets: one without particles, and one with 128 particles."""
    particles, lengths, labels = batch
    more = torch.ones(128, particles.shape[1]).cumsum(0) / 128
    return torch.cat([particles, more]), torch.cat([lengths, torch.tensor([0, 128])]), torch.cat([labels, labels[:2]])


@pytest.mark.parametrize(
    "shape", [*(Shape(21, d, dropout=0) for d in (4, 8, 16, 32, 64, 128)), SMALL], ids=lambda s: f"d{s.width}h{s.heads}"
)
def test_losses_of_training_are_those_of_torch_with_padding(shape: Shape) -> None:
    rng = np.random.default_rng(shape.width)
    model = model_of(shape)
    plain = plain_of(model)
    steps = [torch.optim.AdamW(m.parameters(), 1e-4, weight_decay=1e-2, fused=True) for m in (model, plain)]
    batches = [with_edges(random_batch(rng, 5, shape.features)) for _ in range(4)]
    losses = []
    for step in range(20):
        particles, lengths, labels = batches[step % 4]
        ours = loss_of(model, particles, lengths, labels)
        theirs = torch.nn.functional.cross_entropy(plain.logits(*pad(particles, lengths)), labels)
        for loss, optimiser in zip((ours, theirs), steps, strict=True):
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
        losses.append(ours.item())
    assert losses[-1] < losses[3] - 1e-4


@pytest.mark.parametrize("shape", [Shape(21, 16, dropout=0), Shape(21, 128, dropout=0), SMALL], ids=lambda s: s.width)
def test_gradients_are_those_of_torch_with_padding(shape: Shape) -> None:
    model = loud(shape).double()
    plain = plain_of(model).double()
    particles, lengths, labels = with_edges(random_batch(np.random.default_rng(0), 8, shape.features))
    torch.autograd.backward(loss_of(model, particles.double(), lengths, labels))
    torch.autograd.backward(torch.nn.functional.cross_entropy(plain.logits(*pad(particles.double(), lengths)), labels))
    theirs = dict(plain.named_parameters())
    assert {*theirs} == {name for name, _ in model.named_parameters()}
    for name, weights in model.named_parameters():
        torch.testing.assert_close(weights.grad, theirs[name].grad, rtol=1e-9, atol=1e-11, msg=name)


@pytest.mark.parametrize("width", [4, 64, 128])
def test_neither_order_nor_company_nor_padding_changes_a_logit(width: int) -> None:
    """A logit does not depend on the order of the particles, on other jets, or on padding.

    The test uses double precision, because rounding errors in single precision depend on the kernels of the processor.
    """
    rng = np.random.default_rng(width)
    model = loud(Shape(21, width)).double().eval()
    particles, lengths, _ = with_edges(random_batch(rng, 14))
    particles = particles.double()
    jets = torch.split(particles, lengths.tolist())
    with torch.no_grad():
        logits = model(particles, lengths)
        shuffled = torch.cat([jet[torch.from_numpy(rng.permutation(len(jet)))] for jet in jets])
        moved = torch.from_numpy(rng.permutation(len(jets)))
        elsewhere = model(torch.cat([jets[i] for i in moved]), lengths[moved])
        alone = torch.cat([model(jet, torch.tensor([len(jet)])) for jet in jets])
        plain = plain_of(model).double().eval()
        padded = [plain.logits(*pad(particles, lengths, more)) for more in (0, 30)]
    assert logits.std(0).min() > 0.01
    for found in (model(shuffled, lengths), alone, *padded):
        torch.testing.assert_close(found, logits, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(elsewhere, logits[moved], rtol=1e-9, atol=1e-11)


def test_a_batch_without_any_particle_is_its_class_token() -> None:
    model = loud(SMALL)
    logits = model(torch.zeros(0, 3), torch.tensor([0, 0, 0]))
    one = model(torch.ones(1, 3), torch.tensor([0, 1]))
    assert logits.shape == (3, 10)
    torch.testing.assert_close(logits, one[:1].expand(3, -1))
    torch.autograd.backward(logits.sum())
    assert all(w.grad is not None and w.grad.isfinite().all() for w in model.parameters())


def test_the_same_seed_trains_to_the_same_digits() -> None:
    def trained(seed: int) -> list[Tensor]:
        model = model_of(Shape(21, 16, dropout=0.1), seed)
        optimiser = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
        rng = np.random.default_rng(0)
        for _ in range(4):
            optimiser.zero_grad()
            torch.autograd.backward(loss_of(model, *random_batch(rng, 24)))
            optimiser.step()
        return [w.detach().clone() for w in model.parameters()]

    torch.use_deterministic_algorithms(True)
    try:
        first, again, other = trained(3), trained(3), trained(4)
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True) if a.std() > 0.01)


def test_dropout_is_of_training_only_and_keeps_the_mean() -> None:
    shape = Shape(21, 16, dropout=0.1)
    model = loud(shape)
    still = loud(Shape(21, 16, dropout=0))
    particles, lengths, _ = random_batch(np.random.default_rng(5), 4)
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(particles, lengths), still(particles, lengths))
        model.train()
        many = torch.stack([model(particles, lengths) for _ in range(200)])
    spread = many.std(0)
    assert spread.min() > 0.01
    plain = plain_of(model).train()
    with torch.no_grad():
        theirs = torch.stack([plain.logits(*pad(particles, lengths)) for _ in range(200)])
    error = (spread**2 + theirs.std(0) ** 2).sqrt() / 200**0.5
    assert ((many.mean(0) - theirs.mean(0)).abs() / error).max() < 4.5
    np.testing.assert_allclose(spread, theirs.std(0), rtol=0.35)


@pytest.mark.parametrize("width", [4, 16, 64, 192])
def test_heads_and_hidden_are_those_of_the_paper(width: int) -> None:
    shape = Shape(21, width)
    layer = model_of(shape).layers[0]
    assert (shape.heads, shape.hidden) == (max(1, width // 64), 4 * width)
    assert layer.self_attn.num_heads == shape.heads  # type: ignore[union-attr]
