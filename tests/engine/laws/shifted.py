"""The law L(N, D) = E + A (N + n0)^-alpha + B D^-beta. CONTRIBUTING shows this file as the example of a new law."""

from isoplan.engine.laws.expression import named_law

SHIFTED = named_law(
    "shifted",
    "Loss surface with a shifted model size",
    "E + A*(N + n0)^-alpha + B*D^-beta",
    summary="Parameters that every model has count besides N.",
    reference="a test",
    meanings={
        "E": "floor: the loss at infinite N and D",
        "A": "size of the finite-model term",
        "n0": "parameters that every model has",
        "alpha": "exponent of model size",
        "B": "size of the finite-data term",
        "beta": "exponent of data",
    },
    bounds=tuple((name, 0.0, None) for name in ("E", "A", "n0", "alpha", "B", "beta")),
)
