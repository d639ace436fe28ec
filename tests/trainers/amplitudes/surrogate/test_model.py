"""The backward pass compared with autograd, Adam compared with torch's Adam, and the scaling of muP."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from isoplan.trainers.amplitudes.surrogate import trainer
from isoplan.trainers.amplitudes.surrogate.mlp import ACTIVATIONS, Adam, Mlp
from isoplan.trainers.amplitudes.surrogate.shape import BASE_WIDTH, Parametrization, Shape

WIDTHS = (16, 32, 64, 128, 256)


def made(shape: Shape, activation: str = "gelu", parametrization: Parametrization = "mup", seed: int = 0) -> Mlp:
    model = Mlp(shape, activation)
    model.initialise(parametrization, seed)
    return model


def by_autograd(model: Mlp, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the MSE with respect to the parameter vector, computed with torch's functions."""
    theta, shape = model.theta.clone().requires_grad_(), model.shape
    n, at, h = shape.width, 0, x
    sizes = [n * shape.inputs, *[n] * shape.layers, *[n * n] * (shape.layers - 1), n * shape.outputs]
    parts = torch.split(theta, sizes)
    matrices = [parts[0], *parts[1 + shape.layers :]]
    phi = {"gelu": lambda z: torch.nn.functional.gelu(z, approximate="tanh"), "silu": torch.nn.functional.silu,
           "tanh": torch.tanh, "relu": torch.relu}  # fmt: skip
    names = {id(value): name for name, value in ACTIVATIONS.items()}
    for at in range(shape.layers):
        h = phi[names[id(model.phi)]](torch.nn.functional.linear(h, matrices[at].view(n, -1), parts[1 + at]))
    out = torch.nn.functional.linear(h, matrices[-1].view(shape.outputs, n))
    return torch.autograd.grad(torch.nn.functional.mse_loss(out, y), theta)[0]


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("shape", [Shape(5, 12, 3), Shape(4, 9, 1)], ids=str)
def test_the_backward_pass_is_that_of_autograd(activation: str, shape: Shape) -> None:
    torch.manual_seed(0)
    model, x, y = made(shape, activation, "standard"), torch.randn(20, shape.inputs), torch.randn(20, 1)
    model.theta.add_(0.1 * torch.randn_like(model.theta))
    model.backward(trainer.mse(model.forward(x), y)[1])
    torch.testing.assert_close(model.gradient, by_autograd(model, x, y), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("parametrization", "l2"), [("mup", 0.0), ("standard", 0.0), ("mup", 0.1)])
def test_adam_is_that_of_torch_with_the_rates_of_the_layers(parametrization: Parametrization, l2: float) -> None:
    torch.manual_seed(1)
    shape = Shape(6, 128, 3)
    model, x, y = made(shape, parametrization=parametrization), torch.randn(30, 6), torch.randn(30, 1)
    adam, full = Adam(model, parametrization, l2), model.full_rate
    assert full == 6 * 128 + 3 * 128
    first, rest = (part.clone().requires_grad_() for part in (model.theta[:full], model.theta[full:]))
    slower = 1e-3 * (BASE_WIDTH / 128 if parametrization == "mup" else 1)
    groups: list[dict[str, object]] = [{"params": [first]}, {"params": [rest], "lr": slower}]
    reference = torch.optim.Adam(groups, 1e-3, eps=1e-12, weight_decay=l2)
    for _ in range(20):
        model.backward(trainer.mse(model.forward(x), y)[1])
        first.grad, rest.grad = model.gradient[:full].clone(), model.gradient[full:].clone()
        reference.step()
        adam.step(1e-3)
        torch.testing.assert_close(model.theta, torch.cat([first, rest]).detach(), rtol=1e-5, atol=1e-6)
        model.theta.copy_(torch.cat([first, rest]).detach())


def test_weights_begin_with_the_variances_of_the_paper() -> None:
    n = 256
    for parametrization, last in (("mup", BASE_WIDTH / n**2), ("standard", 1 / n)):
        model = made(Shape(15, n, 3), parametrization=parametrization)  # type: ignore[arg-type]
        expected = [1 / 15, 1 / n, 1 / n, last]
        found = [float(weight.var()) for weight in model.weights]
        np.testing.assert_allclose(found, expected, rtol=0.35)
        np.testing.assert_allclose(found[:3], expected[:3], rtol=0.05)
        assert all(float(bias.abs().max()) == 0 for bias in model.biases)
    same = [made(Shape(15, BASE_WIDTH, 2), parametrization=one).theta for one in ("mup", "standard")]
    assert torch.equal(*same)


def moved(parametrization: Parametrization, width: int, steps: int = 3) -> list[float]:
    """Return the RMS change of the output of each layer after ``steps`` steps of Adam. The output layer is the last."""
    found = []
    for seed in range(4):
        rng = torch.Generator().manual_seed(seed)
        x = torch.randn(64, 10, generator=rng)
        y = torch.sin(x.sum(1, keepdim=True))
        model = made(Shape(10, width, 3), "tanh", parametrization, seed)
        adam, before = Adam(model, parametrization), model.layers_of(x)
        for _ in range(steps):
            model.backward(trainer.mse(model.forward(x), y)[1])
            adam.step(3e-4)
        after = model.layers_of(x)
        found.append([float((b - a).square().mean().sqrt()) for a, b in zip(before, after, strict=True)])
    return list(np.mean(found, axis=0))


def test_updates_keep_their_size_in_mup_and_grow_without() -> None:
    """The coordinate check of Yang et al. (arXiv:2203.03466, App. D.1).

    It fits the slope of log(RMS change) against log(width). In muP, the slope is close to 0.
    """
    slopes = {
        one: np.polyfit(np.log(WIDTHS), np.log([moved(one, width) for width in WIDTHS]), 1)[0]
        for one in ("mup", "standard")
    }
    assert np.abs(slopes["mup"]).max() < 0.15
    assert slopes["standard"][1:].min() > 0.6


def test_activations_at_the_beginning_do_not_depend_on_the_width() -> None:
    x = torch.randn(200, 10, generator=torch.Generator().manual_seed(0))
    sizes = [[float(h.std()) for h in made(Shape(10, width, 3)).layers_of(x)] for width in WIDTHS]
    hidden = np.array(sizes)[:, :-1]
    assert (hidden.max(axis=0) / hidden.min(axis=0)).max() < 1.5
    assert sizes[-1][-1] < sizes[0][-1] / 2
