"""A generated file for the import: its name, its content, and the runs that a person reads from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

Row = tuple[float, float, float]
"""N, D and loss of one run, in this order."""
Rows = tuple[Row, ...]
Cells = Sequence[Sequence[str]]
Cases = Iterator["Case"]
HEADER = ("run", "N", "D", "loss")
LARGE = 1_000_000
"""Size in bytes above which a file is too large for the tests."""


@dataclass(frozen=True)
class Expected:
    """Expected outcome of the import of a file.

    ``rows`` are the runs that a person reads from the file. ``rows`` is None if there is nothing to read.

    ``asks`` is a word of the message with which the terminal refuses the file or asks a question. If there are
    ``rows``, Isoplan must read these runs after the options ``answers`` in the terminal, and after the same answers on
    the page. ``says`` are words of the notes that are shown with the runs, for example on rows that were left out.
    ``unfit`` is a word of the message if the runs are read but no law can be fitted to them.

    ``labels`` are the groups of the runs; () if the groups are not checked. For a large file, ``n`` is the number of
    runs, and ``rows`` contains only the smallest and the largest value of each column. ``digits`` is the number of
    digits that must be equal; 0 stands for all digits. ``boxed`` is true if the upload box of the page does not accept
    files with this suffix. ``or_refused`` is true if a refusal is correct too. ``reference`` reads a damaged file with
    another reader, and returns None if this reader fails.
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
    """A file to import.

    ``kind`` is the row of the case in the report. ``write`` creates the file at a path that ends in ``name``.
    """

    name: str
    kind: str
    write: Callable[[Path], object]
    expected: Expected
    large: bool = False


def reads(rows: Iterable[Row], *says: str, answers: tuple[str, ...] = (), unfit: str = "") -> Expected:
    """Return the expectation that these runs are read, with ``says`` in the notes."""
    return Expected(tuple(rows), says=says, answers=answers, unfit=unfit)


def asks(word: str, answers: tuple[str, ...], rows: Iterable[Row], *says: str) -> Expected:
    """Return an expectation: first a question that contains ``word``, and after ``answers`` the runs ``rows``."""
    return Expected(tuple(rows), asks=word, answers=answers, says=says)


def refuses(word: str) -> Expected:
    """Return the expectation that a message contains ``word`` and that no run is read."""
    return Expected(None, asks=word)


def damaged(rows: Iterable[Row], reference: Callable[[Path], Rows | None]) -> Expected:
    """Return the expectation for damage that cannot always be detected.

    A message, the original runs, and the runs that ``reference`` reads are all correct outcomes.
    """
    return Expected(tuple(rows), reference=reference)


def content(name: str, kind: str, data: str | bytes, expected: Expected, large: bool = False) -> Case:
    """Return a case whose file has the content ``data``. A text is written as UTF-8."""
    sent = data.encode() if isinstance(data, str) else data
    return Case(name, kind, lambda path: path.write_bytes(sent), expected, large or len(sent) > LARGE)


def grid(rng: np.random.Generator, models: int = 4, sizes: int = 3) -> Rows:
    """Return runs on a grid of N and D with a small noise. N is a multiple of 1e5, and D a multiple of 1e6.

    Each loss has four decimals. The last decimal is not 0, so all spellings of a loss have four decimals.
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
    """Return two rows: the smallest values and the largest values of the three columns."""
    low, high = (tuple(f(row[i] for row in rows) for i in range(3)) for f in (min, max))
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def with_losses(rows: Rows, losses: Iterable[float]) -> Rows:
    """Return the rows with their losses replaced by ``losses``."""
    return tuple((n, d, loss) for (n, d, _), loss in zip(rows, losses, strict=True))


def without(rows: Rows, *gone: int) -> Rows:
    """Return ``rows`` without the rows at the indices ``gone``."""
    return tuple(row for i, row in enumerate(rows) if i not in gone)


def spelled(rows: Rows) -> list[list[str]]:
    """Return the rows as texts in the order of ``HEADER``: a name, N and D without decimals, a loss with 4 decimals."""
    return [[f"r{i}", f"{n:.0f}", f"{d:.0f}", f"{loss:.4f}"] for i, (n, d, loss) in enumerate(rows)]


def table(cells: Cells, header: Sequence[str] = HEADER, sep: str = ",", end: str = "\n") -> str:
    """Return the cells as delimited text without quotation marks."""
    return "".join(sep.join(line) + end for line in (header, *cells))


def quoted(cells: Cells, header: Sequence[str] = HEADER, sep: str = ",", end: str = "\n") -> str:
    """Return the cells as delimited text, each in quotation marks."""
    return table([[_quote(c) for c in line] for line in cells], [_quote(c) for c in header], sep, end)


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def column(cells: Cells, place: int, spell: Callable[[str], str]) -> list[list[str]]:
    """Return the cells with ``spell`` applied to the texts of the column number ``place``."""
    return [[spell(c) if i == place else c for i, c in enumerate(line)] for line in cells]


def cell(cells: Cells, row: int, place: int, text: str) -> list[list[str]]:
    """Return the cells with ``text`` in the cell at ``row`` and column ``place``."""
    return [[text if (i, j) == (row, place) else c for j, c in enumerate(line)] for i, line in enumerate(cells)]


def as_large(case: Case) -> Case:
    """Return the case with a mark that its file is too large for the tests."""
    return replace(case, large=True)
