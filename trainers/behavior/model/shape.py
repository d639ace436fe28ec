"""How large a two-part model is: the numbers that its parameters, its FLOPs and its memory follow from."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.errors import PlannerError

HEAD_WIDTH = 64
TEXT = 24
"""Tokens that are read of a text: t of behavioural eq. 1."""


@dataclass(frozen=True)
class Fields:
    """What the embedder reads of an item, and of an event beside its item: tables of rows, and numbers.

    ``vocabulary`` tokens a text may be made of (0: no text), the values of each of the ``categories``, how many
    ``numbers`` an item has, and the ``buckets`` into which ids are hashed (0: ids are not read). ``event_categories``
    and ``event_numbers`` are the same of what changes from event to event.
    """

    vocabulary: int = 0
    categories: tuple[int, ...] = ()
    numbers: int = 0
    buckets: int = 0
    event_categories: tuple[int, ...] = ()
    event_numbers: int = 0

    def __post_init__(self) -> None:
        if not (self.vocabulary or self.categories or self.numbers or self.buckets):
            raise PlannerError("The items have nothing that could be embedded: give features, or buckets for ids.")

    @property
    def rows(self) -> int:
        """Rows of all tables, which N leaves out: the vocabulary of behavioural Sec. 2."""
        return self.vocabulary + sum(self.categories) + self.buckets + sum(self.event_categories)


@dataclass(frozen=True)
class Shape:
    """An event embedder of width ``h`` in front of a causal Transformer of ``width`` d (behavioural, Sec. 2).

    ``h`` is also the width in which candidates are scored (h_emb of behavioural Table 8). ``text_layers`` encode the
    text of an item, ``layers`` a sequence of at most ``length`` events. Raises PlannerError for numbers that make no
    model.
    """

    fields: Fields
    h: int
    width: int
    layers: int = 2
    text_layers: int = 2
    length: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("h", "width", "layers", "text_layers", "length"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name} is {getattr(self, name)}: the model needs at least 1.")
        if not 0 <= self.dropout < 1:
            raise PlannerError(f"Dropout is {self.dropout:g}: use at least 0 and less than 1.")

    @property
    def heads(self) -> int:
        """Heads of the contextualiser."""
        return heads_of(self.width)

    @property
    def text_heads(self) -> int:
        """Heads of the text encoder."""
        return heads_of(self.h)


def heads_of(width: int) -> int:
    """The most heads of at least 64 numbers, or one, that divide ``width``."""
    return next(n for n in range(max(1, width // HEAD_WIDTH), 0, -1) if width % n == 0)
