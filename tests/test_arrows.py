"""The arrows between the packages, read from the syntax trees: imports inside functions count too."""

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
PACKAGES = ("app", "engine", "trainers", "data")
FILES = sorted(p.relative_to(ROOT) for name in PACKAGES for p in (ROOT / name).rglob("*.py"))
EVERYWHERE = {"app", "engine", "trainers", "data", "tests", "benchmarks"}

# Where a rule holds -> what a module there must not import. The longest rule that fits a file adds to the shorter ones.
FORBIDDEN = {
    "app": {"tests", "benchmarks", "duckdb", "torch"},
    "app/figures": {"streamlit", "app.views", "app.commands", "engine.store"},
    "app/views": {"numpy", "scipy", "pandas.api"},
    "app/commands": {"app.views", "app.figures"},
    "engine": {"app", "trainers", "data", "tests", "benchmarks", "streamlit", "plotly", "torch", "typer"},
    "engine/laws": {"engine.store", "engine.fitting", "engine.planning", "engine.schema", "duckdb"},
    "engine/fitting": {"engine.store", "engine.planning", "duckdb"},
    "engine/planning": {"engine.store", "duckdb"},
    "engine/design": {"engine.store", "duckdb"},
    "trainers": {"app", "data", "tests", "benchmarks", "streamlit", "plotly", "duckdb"},
    "data": {"app", "trainers", "tests", "benchmarks", "streamlit", "plotly", "duckdb", "torch", "engine.store"},
}
# Where a rule holds -> all of ours that a module there may import.
ALLOWED = {
    "trainers": {"trainers", "engine.schema", "engine.costs", "engine.errors", "engine.quantities"},
    "engine/laws": {"engine.laws", "engine.errors", "engine.costs", "engine.formula"},
    "engine/formula": {"engine.formula", "engine.errors"},
}


def module_of(path: Path) -> str:
    """The dotted name of a file of ours."""
    parts = path.with_suffix("").parts
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
    """Whether ``module`` is ``package`` or lies in it."""
    return module == package or module.startswith(package + ".")


def broken(path: Path) -> Iterator[str]:
    """The imports of a file that no rule allows."""
    for module in imports(path):
        for where, names in FORBIDDEN.items():
            if path.is_relative_to(where) and any(within(module, name) for name in names):
                if where == "engine" and within(module, "duckdb") and path.is_relative_to("engine/store"):
                    continue
                yield f"{path} imports {module}: not allowed in {where}"
        for where, names in ALLOWED.items():
            ours = module.split(".")[0] in EVERYWHERE
            if path.is_relative_to(where) and ours and not any(within(module, name) for name in names):
                yield f"{path} imports {module}: {where} may import {', '.join(sorted(names))} only"
        if within(module, "duckdb") and not path.is_relative_to("engine/store"):
            yield f"{path} imports duckdb: only engine/store does"


def test_no_import_goes_against_the_arrows() -> None:
    assert [fault for path in FILES for fault in broken(path)] == []


def test_the_rules_see_what_they_forbid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    source = "def f():\n    import duckdb\n    from app import server\nfrom ..store import tables\n"
    path = Path("engine/laws/bad.py")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(source + "import importlib\nimportlib.import_module('torch')\n")
    named = " ".join(broken(path))
    for module in ("duckdb", "app.server", "engine.store.tables", "torch"):
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
    """Map each module of ``files`` to those of them that it imports."""
    known = {module_of(path): path for path in files}
    return {name: {target for m in imports(path) if (target := _ours(m, known))} for name, path in known.items()}


def _ours(module: str, known: dict[str, Path]) -> str | None:
    """The module of ours that an import reads: ``a.b`` of ``from a.b import name``, or ``a.b.name`` if that is one."""
    if module in known:
        return module
    parent = module.rpartition(".")[0]
    return parent if parent in known else None


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, directly or through others, in the order of their names.

    A set is left out if each import in it connects a module and the ``__init__`` of a package that contains it: an
    ``__init__`` collects what its folder offers, so it and a module of the folder may import each other.
    """
    reach = {name: _reachable(graph, name) for name in graph}
    circles = {tuple(sorted(m for m in reach[name] if name in reach[m])) for name in graph}
    return sorted(list(circle) for circle in circles if not _is_allowed(graph, circle))


def _is_allowed(graph: dict[str, set[str]], circle: tuple[str, ...]) -> bool:
    """Return whether each import in ``circle`` connects a module and the ``__init__`` of a package around it."""
    pairs = ((name, target) for name in circle for target in graph[name].intersection(circle))
    return all(within(name, target) or within(target, name) for name, target in pairs)


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return the modules that ``start`` imports, directly or through others."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def test_streamlit_does_not_find_pages_of_its_own() -> None:
    assert not (ROOT / "app" / "pages").exists()


def test_the_terminal_loads_neither_streamlit_nor_torch_nor_numba() -> None:
    code = (
        "import sys, importlib\n"
        "from app.cli import COMMANDS\n"
        "for name, module in COMMANDS.items():\n"
        "    importlib.import_module(module)\n"
        "print(sorted({'streamlit', 'torch', 'plotly', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_import_of_another_package_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
    for room, lines in (("trainers", [*project["dependencies"], *extras]), ("", project["dependencies"])):
        declared = {_normal(re.split(r"[<>=!~ \[;]", line)[0]) for line in lines}
        files = [path for path in FILES if (path.parts[0] == "trainers") == bool(room)]
        used = {m.split(".")[0] for path in files for m in imports(path)} - EVERYWHERE - sys.stdlib_module_names
        distributions = packages_distributions()
        undeclared = {name for name in used if not {_normal(d) for d in distributions.get(name, [name])} & declared}
        assert undeclared == set()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
