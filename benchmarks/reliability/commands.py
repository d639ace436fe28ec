"""Programs with hostile values, which could break out of a shell command or out of a list of arguments.

Each value is used as a field of a cell, and as an argument of the command of a program. The environment variables that
a program gets are checked too.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.backend.worker.attempt_process import run_cell
from isoplan.trainers.families import find_family, read_cell

MARK = "escaped"
"""Name of the file that is created if a value is executed as a command."""
TOUCH = f"touch {MARK}"
VALUES: tuple[str, ...] = (
    # Values that attack a shell.
    *(f"; {TOUCH}", f"& {TOUCH} &", f"&& {TOUCH}", f"|| {TOUCH}", f"| {TOUCH}", f"$({TOUCH})", f"`{TOUCH}`"),
    *(f"' ; {TOUCH} ; '", f'" ; {TOUCH} ; "', f"\n{TOUCH}\n", f"\r\n{TOUCH}\r\n", f"x > {MARK}", f"<({TOUCH})"),
    *(f"$'\\x3b {TOUCH}'", f"${{IFS}}{TOUCH}", f"() {{ :; }}; {TOUCH}", f"\\\n; {TOUCH}", f"# comment\n{TOUCH}"),
    *("$HOME", "~root", "*", "/etc/*", "[a-z]*", "{a,b}", "!!", "%PATH%", f"^& {TOUCH}"),
    # Values that attack a list of arguments.
    *("", " ", "--help", "-c", f"-c import os; os.system('{TOUCH}')", "--", "-", "@/etc/passwd", "=1", "a b\tc"),
    # Values that attack JSON, paths or format strings, and characters that look like other characters.
    *('"}\n{"cell": {"seed": 9}}', '{"result": {"loss": 0}}', "\\u0022}", "../../../etc/passwd", "/dev/stdin"),
    *("%s%n%x", "\\", "'\"\\", "\x1b]0;title\x07", "\u202etxt.exe", "\u2028", "ﬁ¼😀 Å", "x" * 200_000),
)
REFUSED = ("a\x00b", "\ud800")
"""Values that JSON can contain but a program cannot get: a NUL character, and a text that is not valid Unicode."""
PROGRAM = """
import json, os, sys
given = json.loads(sys.stdin.readline())
seen = {"arguments": sys.argv[1:], "cell": given["cell"], "environment": dict(os.environ)}
open("seen.json", "w", encoding="utf-8").write(json.dumps(seen))
print(json.dumps({"result": {"loss": 1.0}}))
"""
SECRETS = {
    "WANDB_API_KEY": "k1",
    "AWS_SECRET_ACCESS_KEY": "k2",
    "HTTPS_PROXY": "http://user:k3@proxy",
    "ISOPLAN_TOKEN": "k4",
    "SLURM_JWT": "k5",
    "LD_PRELOAD": "",
    "PYTHONSTARTUP": "x.py",
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": "key.pem",
}
"""Environment variables that a server may have, and that the programs of cells must not get."""


def workspace(root: Path, arguments: Mapping[str, str], more: str = "") -> Path:
    """Create a workspace with the program ``echo`` and one program per entry of ``arguments``; return its path.

    The key of an entry is the name of the program. Its value is the last argument of the command of the program.
    ``more`` has lines that are added to each description of a program.
    """
    root.mkdir(parents=True, exist_ok=True)
    program = root / "echo.py"
    program.write_text(PROGRAM)
    field = 'kind = "text"\ndefault = ""\n'
    parts = []
    for name, argument in {"echo": "one argument", **arguments}.items():
        command = ", ".join(as_toml(part) for part in ("{python}", "-S", str(program), argument))
        parts.append(f"[{name}]\ncommand = [{command}]\n{more}\n[{name}.fields.text]\n{field}")
    (root / "programs.toml").write_text("\n".join(parts), encoding="utf-8")
    return root


def as_toml(text: str) -> str:
    """Return ``text`` as a quoted string in the syntax of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def once(root: Path, family: str, text: str) -> tuple[Record, dict[str, Any]]:
    """Run one attempt of a cell whose field has the value ``text``. Return its record and the input of its program.

    The input is {} if the program was not run.
    """
    found, queue = find_family(family, root), Queue(root)
    (name,) = queue.add(found, [read_cell(found, {"text": text})])
    run_cell(str(queue.folder(name)), queue.lease(name, "test"))
    seen = queue.folder(name) / "seen.json"
    return queue.find(name), json.loads(seen.read_text(encoding="utf-8")) if seen.exists() else {}


def as_field(root: Path, value: str) -> str:
    """Return what happens to ``value`` as a field of a cell: 'arrived' if the program gets it unchanged.

    Otherwise the text names the fault, or the message with which the value is refused.
    """
    try:
        record, seen = once(root, "echo", value)
    except PlannerError as error:
        return f"refused: {error}"
    if record.state != "done":
        return f"failed: {(record.result or {}).get('why')}"
    if escaped(root):
        return "ran"
    if seen["arguments"] != ["one argument"]:
        return "changed the arguments"
    return "arrived" if seen["cell"]["text"] == value else "changed"


def as_argument(root: Path, family: str, value: str) -> str:
    """Return what happens to ``value`` as an argument of the program ``family``, in the words of ``as_field``."""
    record, seen = once(root, family, "")
    if record.state != "done":
        return f"failed: {(record.result or {}).get('why')}"
    if escaped(root):
        return "ran"
    return "arrived" if seen["arguments"] == [value] else "changed"


def escaped(root: Path) -> bool:
    """Return whether a value was executed, so that the file ``MARK`` exists in the workspace or the current folder."""
    return any(root.rglob(MARK)) or Path(MARK).exists()


@contextmanager
def variables(**given: str) -> Iterator[None]:
    """Add environment variables to this process until the context ends."""
    before = dict(os.environ)
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run() -> Report:
    """Pass each value to a program as a field and as an argument. Check that the program gets no secret variable."""
    arguments = {f"argument-{k}": value for k, value in enumerate(VALUES)}
    with tempfile.TemporaryDirectory() as name, variables(**SECRETS):
        root = workspace(Path(name) / "space", arguments)
        fields = [as_field(root, value) for value in VALUES]
        given = [as_argument(root, family, value) for family, value in arguments.items()]
        nul, surrogate = (as_field(root, value) for value in REFUSED)
        names = sorted(once(root, "echo", "environment")[1]["environment"])
        other = workspace(Path(name) / "other", {}, 'environment = ["WANDB_API_KEY"]')
        named = once(other, "echo", "")[1]["environment"]
        away = sum(name in os.environ and name not in names for name in SECRETS)
    wrong = [f for f in (*fields, *given) if f != "arrived"]
    return Report(
        f"{len(VALUES)} values that would escape a shell or an argument list",
        "Each value is used as a text field of a cell, and as the last argument of a program's command in "
        "`programs.toml`. Goal: the program gets the value unchanged, no part of it is executed, and the number of "
        "arguments stays the same. One value has 200,000 characters, which is more than the system allows for an "
        f"argument. The last rows test the environment of a program, started with {len(SECRETS)} variables that "
        "contain keys or settings.",
        ("what", "result"),
        (
            ("values of a field that arrived unchanged", f"{fields.count('arrived')} of {len(VALUES)}"),
            ("arguments of a command that arrived unchanged", f"{given.count('arrived')} of {len(VALUES)}"),
            (
                "result for the other values",
                "; ".join(sorted({w.replace(sys.executable, "python") for w in wrong})) or "none",
            ),
            ("a value with a NUL", nul),
            ("a value that is no text (half of a surrogate pair)", surrogate[:160]),
            ("keys and settings that a program did not get", f"{away} of {len(SECRETS)}"),
            ("a variable that `environment` names", "passed" if named.get("WANDB_API_KEY") == "k1" else "missing"),
            ("variables that the program got", ", ".join(f"`{one}`" for one in names)),
        ),
    )
