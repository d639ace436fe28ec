"""How large a set Transformer is: the numbers that its parameters, its FLOPs and its speed follow from."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64


@dataclass(frozen=True)
class Shape:
    """The set Transformer of the jet paper (jets, Sec. 2): ``features`` a particle, embedding ``width`` d.

    ``heads`` 0 stands for the paper's max(1, d // 64) and ``hidden`` 0 for its 4 d. Raises PlannerError for numbers
    that make no Transformer.
    """

    features: int
    width: int
    layers: int = 4
    heads: int = 0
    hidden: int = 0
    classes: int = 10
    dropout: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", self.heads or max(1, self.width // HEAD_WIDTH))
        object.__setattr__(self, "hidden", self.hidden or 4 * self.width)
        for name in ("features", "width", "layers", "heads", "hidden", "classes"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the Transformer needs at least 1.")
        if self.width % self.heads:
            raise PlannerError(f"Width {self.width} cannot be split over {self.heads} heads: use a multiple of them.")
        if not 0 <= self.dropout < 1:
            raise PlannerError(f"Dropout is {self.dropout:g}: use at least 0 and less than 1.")
