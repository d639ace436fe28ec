"""One run of a program: its environment, its input (the cell as JSON), its output (JSON lines), and its end."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import select
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import isoplan
from isoplan.trainers.backend.store.files import LEAST_DISK, free
from isoplan.trainers.cell import Cell, CellError, Died, RunContext, Stopped

PASSED = frozenset(
    {
        # Paths of programs, libraries and environments.
        *("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"),
        # User, language, time zone and temporary folder.
        *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        # Visible GPUs.
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    }
)
PREFIXES = ("LC_", "OMP_", "KMP_", "SLURM_", "_CONDOR_")
"""Prefixes of further environment variables that are passed to a program: languages, threads, batch jobs."""
NEVER = frozenset({"SLURM_JWT"})
"""Environment variables that are not passed to a program, although their names have one of the ``PREFIXES``.

The values of these variables contain secret keys.
"""
THREADS = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
"""Libraries whose variable ``<library>_NUM_THREADS`` is set to the number of threads of the cell."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PATHS = "PYTHONPATH"


def environment_of(
    command: Sequence[str], named: Sequence[str], threads: int, given: Mapping[str, str], source: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment variables for ``command``.

    The result contains the allowed variables of ``source``, the variables of ``source`` with a name in ``named``,
    variables that limit libraries to ``threads`` threads, and the variables in ``given``. Names that ``source`` does
    not contain are ignored.
    """
    passed = {name: value for name, value in source.items() if name in named or _is_passed(name)}
    limits = {f"{library}_NUM_THREADS": str(threads) for library in THREADS}
    return {**passed, **_paths(command, source), "PYTHONUNBUFFERED": "1", **limits, **given}


def _is_passed(name: str) -> bool:
    return name in PASSED or (name.startswith(PREFIXES) and name not in NEVER)


def _paths(command: Sequence[str], source: Mapping[str, str]) -> dict[str, str]:
    """Return the variable PYTHONPATH for a program.

    If the program runs with the Python of Isoplan, the folder of Isoplan is at the end of the path. Otherwise, this
    folder is not in the path. Packages in the folder, such as ``data``, thus never hide packages of the program.
    """
    own = str(Path(isoplan.__file__).parents[1])
    paths = [path for path in source.get(PATHS, "").split(os.pathsep) if path and path != own]
    if command[0] == sys.executable:
        paths.append(own)
    return {PATHS: os.pathsep.join(paths)} if paths else {}


GRACE = 4.0
"""Seconds that a program has after SIGTERM to save a last checkpoint. Then the program is killed."""
LINE = 1_000_000
"""Maximum length of an output line in bytes. A longer line is not parsed."""
LOG = 10_000_000
"""Maximum number of bytes of output in the log, without the JSON lines."""
CHUNK = 65_536
MARK = "ISOPLAN_CELL"
"""Environment variable that identifies the processes of a training run. Its value is the folder of the run."""
CHECKPOINT = "checkpoint"


@dataclass(eq=False)
class Said:
    """Output of a program so far: its last values, its result, the number of JSON lines, and the time of its last line.

    ``loss`` is the name of the loss, and ``logged`` the number of bytes in the log.
    """

    loss: str
    values: dict[str, float] = field(default_factory=dict)
    result: dict[str, float] | None = None
    lines: int = 0
    at: float = field(default_factory=time.monotonic)
    logged: int = 0


def train(
    command: Sequence[str], loss: str, silence: float, environment: Sequence[str], cell: Cell, stream: RunContext
) -> dict[str, float]:
    """Train a cell with the program ``command``, and return the metrics of the cell.

    The program gets the variables that ``environment_of`` returns, including those named in ``environment``. The
    program reads one JSON object from standard input:

    - ``cell``: the fields of the cell.
    - ``device`` and ``folder``: the device and the folder of the cell.
    - ``checkpoint``: the path for the state of the training. The program must write a temporary file and rename it.
    - ``resume``: the path in ``checkpoint`` if an earlier attempt has saved a state, otherwise null.

    The program writes JSON objects, one per line: ``step`` and ``total`` with measured values, and at the end
    ``result``. SIGTERM asks the program to stop. A program without output for more than ``silence`` seconds is killed.

    Raises CellError if the program is missing, fails, is silent for too long, or writes no readable line. Raises Died
    if a signal ended the program, OSError if the program fails while the disk is full, and Stopped after a stop
    request.
    """
    given: dict[str, object] = {
        "cell": cell.model_dump(mode="json"),
        "device": "cuda:0"
        if stream.device.startswith("cuda:")
        else stream.device,  # the only GPU that the program sees
        "folder": str(stream.folder),
        "checkpoint": str(stream.folder / CHECKPOINT),
        "resume": str(stream.resume) if stream.resume else None,
    }
    if stream.number > 1:
        _end_left_over(stream.folder)
    said = Said(loss)
    with _started(command, environment, cell, stream) as process:
        _hand_over(process, given)
        try:
            for name, line in _lines(process, stream, said, silence):
                _take(name, line, said, stream)
        except Stopped:
            _ask_to_end(process)
            raise
        code = process.wait()
    if code > 0 and free(stream.folder) < LEAST_DISK:
        raise OSError(errno.ENOSPC, "The program failed on a full disk")
    return _ended(command, code, said)


def _ended(command: Sequence[str], code: int, said: Said) -> dict[str, float]:
    """Return the metrics of a program that ended with the exit code ``code``.

    Raises CellError if the program failed or wrote no metrics, and Died if a signal ended it.
    """
    name = Path(command[0]).name if len(command) == 1 else " ".join(Path(part).name for part in command[:3])
    if code < 0:
        raise Died(f"The program {name} was ended by signal {-code}: read its log.")
    if code:
        raise CellError(f"The program {name} ended with exit code {code}: read the reason in its log.")
    if not said.lines:
        raise CellError(
            f"The program {name} wrote no JSON line: the program must write its metrics to standard output."
        )
    found = said.result if said.result is not None else said.values
    if said.loss not in found:
        raise CellError(
            f"The program {name} reported no {said.loss}: its last JSON line must contain it in the object result."
        )
    return found


@contextlib.contextmanager
def _started(
    command: Sequence[str], environment: Sequence[str], cell: Cell, stream: RunContext
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in its own session, and kill it with its child processes after the ``with`` block."""
    device = {"CUDA_VISIBLE_DEVICES": _gpu(stream.device)} if stream.device.startswith("cuda:") else {}
    program = shutil.which(command[0])
    if program is None:
        raise CellError(f"The program {command[0]!r} is not on this machine: install it, or correct programs.toml.")
    try:
        process = subprocess.Popen(
            [*_tied(), program, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=stream.folder,
            env=environment_of(command, environment, cell.threads, {**device, MARK: str(stream.folder)}, os.environ),
            start_new_session=True,
        )
    except OSError as error:
        raise CellError(f"The program {command[0]!r} cannot be started: {error.strerror}.") from error
    except ValueError as error:  # raised for an argument with a NUL byte
        raise CellError(f"The program {command[0]!r} cannot be started: {error}. Correct programs.toml.") from error
    try:
        yield process
    finally:
        _end(process)


def _gpu(device: str) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES for a program that may use only ``device``.

    ``cuda:1`` is the second GPU that is visible to this process. Its index on the machine depends on
    CUDA_VISIBLE_DEVICES.
    """
    index = device.partition(":")[2]
    names = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return names[int(index)] if names and int(index) < len(names) else index


def _tied() -> list[str]:
    """Return a command prefix that makes the system kill the program when its worker ends, or [] if unavailable."""
    tie = shutil.which("setpriv")
    return [tie, "--pdeathsig", "KILL", "--"] if tie and sys.platform == "linux" else []


def _hand_over(process: subprocess.Popen[bytes], given: dict[str, object]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # raised if the program does not read its input
        process.stdin.write(json.dumps(given).encode() + b"\n")
        process.stdin.close()


def _lines(
    process: subprocess.Popen[bytes], stream: RunContext, said: Said, silence: float
) -> Iterator[tuple[str, bytes]]:
    """Yield ("out", line) for standard output and ("err", line) for standard error, until both streams end.

    Raises Stopped after a stop request, and CellError if there is no output for ``silence`` seconds.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    rest = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ, "out")
        waiting.register(process.stderr, selectors.EVENT_READ, "err")
        while waiting.get_map():
            for key, _ in waiting.select(0.1):
                data = os.read(key.fd, CHUNK)
                name = str(key.data)
                if not data:
                    waiting.unregister(key.fileobj)
                    if rest[name]:
                        yield name, bytes(rest[name])
                    continue
                first, *whole = data.split(b"\n")
                rest[name] += first
                for part in whole:
                    yield name, bytes(rest[name])
                    rest[name] = bytearray(part)
                if len(rest[name]) > LINE:
                    yield name, bytes(rest[name])
                    rest[name].clear()
            if stream.stopping:
                raise Stopped
            if process.poll() is not None and not _readable(process):  # a child process may keep the output open
                return
            if time.monotonic() - said.at > silence:
                raise CellError(
                    f"The program had no output for {silence:g} s and was ended: raise the field silence in "
                    "programs.toml."
                )


def _readable(process: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    """Return the output streams of a program (standard output, standard error) that can be read without waiting."""
    streams = [one for one in (process.stdout, process.stderr) if one is not None]
    return select.select(streams, [], [], 0)[0]


def _take(name: str, line: bytes, said: Said, stream: RunContext) -> None:
    """Process one output line: measured values, the result, or text for the log.

    ``name`` is "out" or "err". Raises CellError if the loss is not a finite number.
    """
    said.at = time.monotonic()
    event = _event(line) if name == "out" else None
    if event is None:
        _log(line, said)
        return
    said.lines += 1
    result = event.get("result")
    if isinstance(result, dict):
        said.result = _numbers(result, said.loss, "in its result")
        return
    at = event.get("step")
    step = int(at) if isinstance(at, (int, float)) else said.lines
    total = event.get("total")
    said.values = _numbers({k: x for k, x in event.items() if k not in ("step", "total")}, said.loss, f"at step {step}")
    stream.step(step, int(total) if isinstance(total, (int, float)) else None, **said.values)


def _event(line: bytes) -> dict[str, object] | None:
    if not line.startswith(b"{") or len(line) > LINE:
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _numbers(values: dict[str, object], loss: str, where: str) -> dict[str, float]:
    found = {k: float(x) for k, x in values.items() if isinstance(x, (int, float)) and not isinstance(x, bool)}
    if loss in found and not math.isfinite(found[loss]):
        raise CellError(f"The program reported {loss} = {found[loss]} {where}: the training diverged.")
    return {k: x for k, x in found.items() if math.isfinite(x)}


def _log(line: bytes, said: Said) -> None:
    if said.logged > LOG:
        return
    said.logged += len(line) + 1
    more = b"\n" if said.logged <= LOG else b"\n(more was printed and is not kept)\n"
    with contextlib.suppress(OSError):
        os.write(1, line[:LINE] + more)


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM and wait up to ``GRACE`` seconds for a last checkpoint. Further output is discarded."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while process.poll() is None and time.monotonic() < until:
        for one in _readable(process):
            os.read(one.fileno(), CHUNK)
        time.sleep(0.02)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for one in (process.stdin, process.stdout, process.stderr):
        if one is not None:
            with contextlib.suppress(OSError):
                one.close()
    process.wait()


def _end_left_over(folder: Path) -> None:
    """Kill running processes of earlier attempts. Such processes exist if the worker was killed."""
    import psutil

    own = os.getpid()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != own and process.environ().get(MARK) == str(folder):
                process.kill()
