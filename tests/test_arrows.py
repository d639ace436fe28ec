"""Rules for imports between packages, checked in the syntax trees. Imports inside functions are also checked."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("app", "engine", "trainers", "data")
FILES = sorted(p.relative_to(ROOT) for name in ("isoplan", *PARTS) for p in (ROOT / name).rglob("*.py"))
EVERYWHERE = {"isoplan", "tests", "benchmarks"}

# Folder -> modules that its files must not import. A file must obey the rules for all folders that contain the file.
FORBIDDEN = {
    "isoplan": {"isoplan.app", "tests", "benchmarks", "streamlit", "duckdb", "torch", "typer"},
    "app": {"tests", "benchmarks", "duckdb", "torch"},
    "app/figures": {"streamlit", "isoplan.app.views", "isoplan.app.commands", "isoplan.engine.store"},
    "app/views": {"numpy", "scipy", "pandas.api"},
    "app/commands": {"isoplan.app.views", "isoplan.app.figures"},
    "app/reports": {"streamlit", "isoplan.app.views", "isoplan.app.commands", "isoplan.engine.store"},
    "engine": {
        *("isoplan.app", "isoplan.trainers", "isoplan.data", "tests", "benchmarks"),
        *("streamlit", "plotly", "torch", "typer"),
    },
    "engine/laws": {f"isoplan.engine.{name}" for name in ("store", "fitting", "planning", "schema")} | {"duckdb"},
    "engine/fitting": {"isoplan.engine.store", "isoplan.engine.planning", "duckdb"},
    "engine/planning": {"isoplan.engine.store", "duckdb"},
    "engine/curves": {f"isoplan.engine.{name}" for name in ("store", "fitting", "planning", "laws", "design")},
    "engine/design": {"isoplan.engine.store", "isoplan.engine.planning", "duckdb"},
    "trainers": {"isoplan.app", "isoplan.data", "tests", "benchmarks", "streamlit", "plotly", "duckdb"},
    "data": {
        *("isoplan.app", "isoplan.trainers", "isoplan.engine.store", "tests", "benchmarks"),
        *("streamlit", "plotly", "duckdb", "torch"),
    },
}
# Folder -> all Isoplan modules that its files may import. ``import isoplan`` is allowed in addition.
ALLOWED = {
    "trainers": {
        "isoplan.trainers",
        *(f"isoplan.engine.{name}" for name in ("schema", "costs", "errors", "quantities", "arrays")),
    },
    "engine/laws": {f"isoplan.engine.{name}" for name in ("laws", "errors", "costs", "formula", "arrays")},
    "engine/formula": {f"isoplan.engine.{name}" for name in ("formula", "errors", "arrays")},
}
# Folder -> its subfolders in order. A module must not import from a subfolder that comes after its own subfolder.
ORDER = {
    "engine/trackers": ("formats", "tensorboard", "wandb", "mlflow", "optuna", "plain"),
    "engine/fitting": (
        *("types", "samples", "solver", "resampling", "estimators", "diagnostics"),
        *("single", "groups", "common_floor", "validation", "cards"),
    ),
    "engine/planning": (
        *("scenario", "answer", "optimum", "plan", "questions", "drawing", "story", "repeat"),
        *("smaller", "next_cells", "next_values", "amplitude", "recommender", "actual", "compare"),
    ),
}


def module_of(path: Path) -> str:
    """Return the dotted name by which a file of the project is imported."""
    parts = path.with_suffix("").parts
    parts = ("isoplan", *parts) if parts[0] in PARTS else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that a file imports, as ``package.module`` or ``package.module.name``.

    Imports in functions and under ``TYPE_CHECKING`` count too.
    """
    found = set()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _base(path, node)
            found |= {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and _is_import_call(node):
            found |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
    return frozenset(found)


def _base(path: Path, node: ast.ImportFrom) -> str:
    package = module_of(path).split(".") if path.name == "__init__.py" else module_of(path).split(".")[:-1]
    up = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*up, *([node.module] if node.module else [])])


def _is_import_call(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in {"import_module", "__import__"}


def within(module: str, package: str) -> bool:
    """Return whether ``module`` is ``package`` or is inside it."""
    return module == package or module.startswith(package + ".")


def broken(path: Path) -> Iterator[str]:
    """Yield one message for each import of a file that breaks a rule."""
    for module in imports(path):
        for where, names in FORBIDDEN.items():
            if path.is_relative_to(where) and any(within(module, name) for name in names):
                if where == "engine" and within(module, "duckdb") and path.is_relative_to("engine/store"):
                    continue
                if path == Path("isoplan/plot.py") and within(module, "isoplan.app.figures"):
                    continue
                if path == Path("isoplan/files.py") and within(module, "isoplan.app.reports"):
                    continue
                yield f"{path} imports {module}: not allowed in {where}"
        for where, names in ALLOWED.items():
            ours = module.split(".")[0] in EVERYWHERE and module not in ("isoplan", "isoplan.trainers")
            if path.is_relative_to(where) and ours and not any(within(module, name) for name in names):
                yield f"{path} imports {module}: {where} may import {', '.join(sorted(names))} only"
        for where, places in ORDER.items():
            own = _position(module_of(path), where, places)
            if 0 <= own < _position(module, where, places):
                yield f"{path} imports {module}, which lies to the right of it in {where}"
        if within(module, "duckdb") and not path.is_relative_to("engine/store"):
            yield f"{path} imports duckdb: only engine/store does"


def _position(module: str, where: str, places: tuple[str, ...]) -> int:
    """Return the index of the item of ``places`` that contains ``module``, or -1. ``places`` are inside ``where``."""
    names = [f"isoplan.{where}.{place}".replace("/", ".") for place in places]
    return next((i for i, name in enumerate(names) if within(module, name)), -1)


def test_no_import_goes_against_the_arrows() -> None:
    assert [fault for path in FILES for fault in broken(path)] == []


def test_the_rules_see_what_they_forbid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    source = "def f():\n    import duckdb\n    from isoplan.app import server\nfrom ..store import tables\n"
    path = Path("engine/laws/bad.py")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(source + "import importlib\nimportlib.import_module('torch')\n")
    named = " ".join(broken(path))
    for module in ("duckdb", "isoplan.app.server", "isoplan.engine.store.tables", "torch"):
        assert f"imports {module}" in named


def test_the_modules_do_not_import_in_a_circle() -> None:
    assert _circles(_graph(FILES)) == []


def test_a_circle_is_found_in_functions_and_under_type_checking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    sources = {
        "__init__": "from lib.a import f",
        "a": "from lib import b\ndef f():\n    from lib.c import g",
        "b": "import lib.d",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lib.a import f",
        "d": "from lib.b import h",
        "e": "from lib import a, b, c, d",
    }
    files = [Path(f"lib/{name}.py") for name in sources]
    (tmp_path / "lib").mkdir()
    for path, source in zip(files, sources.values(), strict=True):
        (tmp_path / path).write_text(source + "\n")
    assert _circles(_graph(files)) == [["lib.a", "lib.c"], ["lib.b", "lib.d"]]


def test_an_init_and_its_own_modules_alone_may_read_each_other() -> None:
    assert _circles({"lib": {"lib.a"}, "lib.a": {"lib"}}) == []
    through_another_package = {"lib": {"lib.a"}, "lib.a": {"user"}, "user": {"lib"}}
    assert _circles(through_another_package) == [["lib", "lib.a", "user"]]
    through_the_init = {"lib": {"lib.a"}, "lib.a": {"lib.b"}, "lib.b": {"lib"}}
    assert _circles(through_the_init) == [["lib", "lib.a", "lib.b"]]


def _graph(files: Iterable[Path]) -> dict[str, set[str]]:
    """Return the import graph: each module of ``files``, with the modules of ``files`` that it imports."""
    known = {module_of(path): path for path in files}
    return {name: {target for m in imports(path) if (target := _ours(m, known))} for name, path in known.items()}


def _ours(module: str, known: dict[str, Path]) -> str | None:
    """Return the project module that an import loads, or None for other modules.

    For ``from a.b import name``, the result is ``a.b.name`` if this is a module, and otherwise ``a.b``.
    """
    if module in known:
        return module
    parent = module.rpartition(".")[0]
    return parent if parent in known else None


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the forbidden import cycles: sets of modules that import each other, directly or through other modules.

    The sets are sorted by name. A cycle between an ``__init__`` and modules of its own package is allowed and omitted,
    because an ``__init__`` imports the public names of its package.
    """
    reach = {name: _reachable(graph, name) for name in graph}
    circles = {tuple(sorted(m for m in reach[name] if name in reach[m])) for name in graph}
    return sorted(list(circle) for circle in circles if not _is_allowed(graph, circle))


def _is_allowed(graph: dict[str, set[str]], circle: tuple[str, ...]) -> bool:
    """Return whether each import in ``circle`` is between a module and the ``__init__`` of its package."""
    pairs = ((name, target) for name in circle for target in graph[name].intersection(circle))
    return all(within(name, target) or within(target, name) for name, target in pairs)


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return the modules that ``start`` imports, directly or through other modules."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def test_the_parts_are_named_with_their_package() -> None:
    """In a checkout, ``import PART.errors`` would create a second copy of the module ``isoplan.PART.errors``."""
    pairs = {tuple(module_of(path).split(".")[1:3]) for path in FILES}
    names = "|".join(sorted(re.escape(".".join(pair)) for pair in pairs if len(pair) == 2))
    parts = "|".join(PARTS)
    bare = re.compile(rf"(?<![\w./-])(?:{names})\b(?!\()|^\s*(?:from|import) (?:{parts})\b", re.MULTILINE)
    command = ["git", "ls-files", "*.py", "*.md", "*.toml", "*.js", "*.yml", "Makefile", "Dockerfile"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in files if name != "CHANGELOG.md"}
    assert [f"{name}: {match.group()}" for name, text in texts.items() for match in bare.finditer(text)] == []


def test_pyproject_lists_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = sorted(module_of(path) for path in FILES if path.name == "__init__.py")
    assert project["tool"]["setuptools"]["packages"] == packages


def test_streamlit_does_not_find_pages_of_its_own() -> None:
    assert not (ROOT / "app" / "pages").exists()


def test_the_terminal_loads_neither_streamlit_nor_torch_nor_numba() -> None:
    code = (
        "import sys\n"
        "from isoplan.app.cli import command_module, commands\n"
        "for name in commands():\n"
        "    command_module(name)\n"
        "print(sorted({'streamlit', 'torch', 'plotly', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_import_of_another_package_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core, extras = project["dependencies"], project["optional-dependencies"]
    families = [line for name, lines in extras.items() if name not in ("dev", "trackers") for line in lines]
    rooms = {"trainers": [*core, *families], "engine/trackers": [*core, *extras["trackers"]], "": core}
    room_of = {path: next(room for room in rooms if path.as_posix().startswith(room)) for path in FILES}
    for room, lines in rooms.items():
        declared = {_normal(re.split(r"[<>=!~ \[;]", line)[0]) for line in lines}
        files = [path for path in FILES if room_of[path] == room]
        used = {m.split(".")[0] for path in files for m in imports(path)} - EVERYWHERE - sys.stdlib_module_names
        distributions = packages_distributions()
        undeclared = {name for name in used if not {_normal(d) for d in distributions.get(name, [name])} & declared}
        assert undeclared == set()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
