"""One-line faults: one operator, constant or condition in a source file is replaced by another."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Pow: ("**", "*"),
}
JOINED: dict[type[ast.boolop], tuple[str, str]] = {ast.And: ("and", "or"), ast.Or: ("or", "and")}


@dataclass(frozen=True)
class Fault:
    """A fault: the text ``old`` is replaced by ``new`` in ``file``, at ``line`` (from 1) and ``column`` (from 0)."""

    file: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"

    def apply(self, source: str) -> str:
        """Return ``source`` with the fault. Raises ValueError if ``old`` is not at the line and column of the fault."""
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        if not text.startswith(self.old, self.column):
            raise ValueError(f"{self}: the line is {text!r}")
        lines[self.line - 1] = text[: self.column] + self.new + text[self.column + len(self.old) :]
        return "".join(lines)


def draw_faults(root: Path, folders: Sequence[Sequence[str]], each: int, seed: int) -> list[Fault]:
    """Draw ``each`` faults at random from each group of ``folders`` below ``root``.

    The same ``seed`` gives the same faults.

    The probability of a file is proportional to its number of possible faults. If the name of a folder in a group
    begins with ``-``, the folder is excluded from the group.
    """
    draw = random.Random(seed)
    drawn: list[Fault] = []
    for group in folders:
        out = [name[1:] for name in group if name.startswith("-")]
        files = sorted(
            path.relative_to(root).as_posix()
            for name in group
            if not name.startswith("-")
            for path in (root / name).rglob("*.py")
        )
        files = [file for file in files if not any(file.startswith(f"{name}/") for name in out)]
        possible = [fault for file in files for fault in faults_of(file, (root / file).read_text())]
        drawn += draw.sample(possible, each)
    return drawn


def faults_of(file: str, source: str) -> Iterator[Fault]:
    """Yield all possible faults of a module, in the order of its syntax tree. Type annotations are skipped."""
    lines = source.splitlines()
    for node in _nodes(ast.parse(source)):
        for line, column, old, new in _changes(node, lines):
            yield Fault(file, line, column, old, new)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes below ``node``, without annotations, decorators, and code that only a type checker reads."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or _unused_at_run_time(node):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _unused_at_run_time(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _changes(node: ast.AST, lines: Sequence[str]) -> Iterator[tuple[int, int, str, str]]:
    match node:
        case ast.Compare(ops=ops):
            for (left, right), op in zip(pairwise([node.left, *node.comparators]), ops, strict=True):
                yield from _between(left, right, COMPARED[type(op)], lines)
        case ast.BinOp(op=op) if type(op) in COMPUTED:
            yield from _between(node.left, node.right, COMPUTED[type(op)], lines)
        case ast.BoolOp(op=op):
            for left, right in pairwise(node.values):
                yield from _between(left, right, JOINED[type(op)], lines)
        case ast.UnaryOp(op=ast.Not()):
            yield node.lineno, _column(lines, node.lineno, node.col_offset), "not ", ""
        case ast.Constant(value=bool(value)):
            yield node.lineno, _column(lines, node.lineno, node.col_offset), str(value), str(not value)
        case ast.Constant(value=int() | float() as number):
            start, end = (_column(lines, node.lineno, offset) for offset in (node.col_offset, node.end_col_offset or 0))
            yield node.lineno, start, lines[node.lineno - 1][start:end], f"({number!r} + 1)"


def _between(
    left: ast.expr, right: ast.expr, names: tuple[str, str], lines: Sequence[str]
) -> Iterator[tuple[int, int, str, str]]:
    """Yield the line, the column, the old and the new text of the operator between two operands on the same line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    start, end = (_column(lines, right.lineno, offset) for offset in (left.end_col_offset, right.col_offset))
    at = lines[right.lineno - 1].find(names[0], start, end)
    if at >= 0:
        yield right.lineno, at, *names


def _column(lines: Sequence[str], line: int, offset: int) -> int:
    """Convert the ``offset`` in a line from bytes to characters."""
    return len(lines[line - 1].encode()[:offset].decode())
