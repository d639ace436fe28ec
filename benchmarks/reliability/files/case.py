"""Description of a generated file: its name, how it is written, and the runs that a person would read from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

Row = tuple[float, float, float]
"""N, D and loss of one run."""
Rows = tuple[Row, ...]
Cells = Sequence[Sequence[str]]
Cases = Iterator["Case"]
HEADER = ("run", "N", "D", "loss")
LARGE = 1_000_000
"""Size in bytes above which the tests skip a file."""


@dataclass(frozen=True)
class Expected:
    """Expected outcome for a file.

    ``rows`` are the runs that a person reads from it, or None if there is nothing to read. ``asks`` is a word of the
    message with which the terminal refuses the file or asks about it; with ``rows`` the options ``answers`` then lead
    to these runs, and on the page the same answers do. ``says`` are words of the notes that come with the runs, such as
    those on rows that were left out. ``unfit`` is a word of the message if the runs are read but no law is fitted.
    ``labels`` are the groups of the runs, empty if they are not checked. ``n`` is the number of runs of a large file,
    of which ``rows`` are the smallest and the largest of each column. ``digits`` is the number of digits that have to
    agree, 0 for all. ``boxed``: the upload box of the page does not accept files with this ending. ``or_refused``: a
    refusal is as good as the runs. ``reference`` reads a damaged file with another reader; it returns None if the file
    cannot be read.
    """

    rows: Rows | None
    asks: str = ""
    answers: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    unfit: str = ""
    labels: tuple[str, ...] = ()
    n: int = 0
    digits: int = 0
    boxed: bool = False
    or_refused: bool = False
    reference: Callable[[Path], Rows | None] | None = None


@dataclass(frozen=True)
class Case:
    """A file to import: ``kind`` is its row in the report, ``write`` creates it at a path that ends in ``name``."""

    name: str
    kind: str
    write: Callable[[Path], object]
    expected: Expected
    large: bool = False


def reads(rows: Iterable[Row], *says: str, answers: tuple[str, ...] = (), unfit: str = "") -> Expected:
    """Expect these runs, and these words in the notes."""
    return Expected(tuple(rows), says=says, answers=answers, unfit=unfit)


def asks(word: str, answers: tuple[str, ...], rows: Iterable[Row], *says: str) -> Expected:
    """Expect a question with this word, and these runs after the answers."""
    return Expected(tuple(rows), asks=word, answers=answers, says=says)


def refuses(word: str) -> Expected:
    """Expect a message with this word and no runs."""
    return Expected(None, asks=word)


def damaged(rows: Iterable[Row], reference: Callable[[Path], Rows | None]) -> Expected:
    """Expect a message, the original runs, or those read by ``reference``: damage that cannot be detected."""
    return Expected(tuple(rows), reference=reference)


def content(name: str, kind: str, data: str | bytes, expected: Expected, large: bool = False) -> Case:
    """Return a case with known bytes; text is written as UTF-8."""
    sent = data.encode() if isinstance(data, str) else data
    return Case(name, kind, lambda path: path.write_bytes(sent), expected, large or len(sent) > LARGE)


def grid(rng: np.random.Generator, models: int = 4, sizes: int = 3) -> Rows:
    """Return runs of a dense grid with small noise; N is whole hundred thousands, D whole millions.

    A loss has 4 digits after its point in all spellings, because its last digit is not 0.
    """
    bases = [int(x) for x in np.geomspace(10, 3000, models) * rng.uniform(0.9, 1.1, models)]
    tokens = [int(x) for x in np.geomspace(40, 9000, sizes) * rng.uniform(0.9, 1.1, sizes)]
    return tuple(
        (n * 1e5, d * 1e6, _loss(n * 1e5, d * 1e6, float(rng.normal(0, 0.003)))) for n in bases for d in tokens
    )


def _loss(n: float, d: float, noise: float) -> float:
    whole = round((1.7 + 400 / n**0.34 + 2000 / d**0.37) * (1 + noise) * 1e4)
    return (whole + (whole % 10 == 0)) / 1e4


def ends(rows: Rows) -> Rows:
    """Return the smallest and the largest number of each column."""
    low, high = (tuple(f(row[i] for row in rows) for i in range(3)) for f in (min, max))
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def with_losses(rows: Rows, losses: Iterable[float]) -> Rows:
    """Return the rows with other losses."""
    return tuple((n, d, loss) for (n, d, _), loss in zip(rows, losses, strict=True))


def without(rows: Rows, *gone: int) -> Rows:
    """Return the rows without those at the indices ``gone``."""
    return tuple(row for i, row in enumerate(rows) if i not in gone)


def spelled(rows: Rows) -> list[list[str]]:
    """Return the cells of the rows under ``HEADER``: a name, whole numbers, and a loss with 4 digits."""
    return [[f"r{i}", f"{n:.0f}", f"{d:.0f}", f"{loss:.4f}"] for i, (n, d, loss) in enumerate(rows)]


def table(cells: Cells, header: Sequence[str] = HEADER, sep: str = ",", end: str = "\n") -> str:
    """Return cells as delimited text without quotation marks."""
    return "".join(sep.join(line) + end for line in (header, *cells))


def quoted(cells: Cells, header: Sequence[str] = HEADER, sep: str = ",", end: str = "\n") -> str:
    """Return cells as delimited text, all in quotation marks."""
    return table([[_quote(c) for c in line] for line in cells], [_quote(c) for c in header], sep, end)


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def column(cells: Cells, place: int, spell: Callable[[str], str]) -> list[list[str]]:
    """Return the cells with one column spelled differently."""
    return [[spell(c) if i == place else c for i, c in enumerate(line)] for line in cells]


def cell(cells: Cells, row: int, place: int, text: str) -> list[list[str]]:
    """Return the cells with another text in one of them."""
    return [[text if (i, j) == (row, place) else c for j, c in enumerate(line)] for i, line in enumerate(cells)]


def as_large(case: Case) -> Case:
    """Return the case marked as too large for the tests."""
    return replace(case, large=True)
