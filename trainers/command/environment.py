"""The environment variables that a program gets: a short list, what its description names, and what its cell needs.

The rest of the environment stays with Isoplan: it may hold keys of services, passwords in addresses of proxies, and
settings that are Isoplan's own.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import isoplan

PASSED = frozenset(
    {
        # Where programs, libraries and environments are.
        *("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"),
        # Who runs it, in which language, time zone and temporary folder.
        *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        # Which GPUs it may use.
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    }
)
PREFIXES = ("LC_", "OMP_", "KMP_", "SLURM_", "_CONDOR_")
"""Beginnings of names that are passed too: languages, placement of threads, the batch job."""
NEVER = frozenset({"SLURM_JWT"})
"""What a prefix would pass and is a key."""
THREADS = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
"""Libraries whose ``..._NUM_THREADS`` is the number of threads of the cell."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PATHS = "PYTHONPATH"


def environment_of(
    command: Sequence[str], named: Sequence[str], threads: int, given: Mapping[str, str], source: Mapping[str, str]
) -> dict[str, str]:
    """The variables for ``command``: those of ``source`` that are passed or ``named``, and those that are ``given``.

    ``threads`` are those of the cell. A name in ``named`` that ``source`` lacks is left out.
    """
    passed = {name: value for name, value in source.items() if name in named or _is_passed(name)}
    limits = {f"{library}_NUM_THREADS": str(threads) for library in THREADS}
    return {**passed, **_paths(command, source), "PYTHONUNBUFFERED": "1", **limits, **given}


def _is_passed(name: str) -> bool:
    return name in PASSED or (name.startswith(PREFIXES) and name not in NEVER)


def _paths(command: Sequence[str], source: Mapping[str, str]) -> dict[str, str]:
    """Where Python looks for modules: without the folder of Isoplan, whose ``data`` would hide the program's.

    A program that Isoplan's own Python runs finds Isoplan's modules last.
    """
    own = str(Path(isoplan.__file__).parents[1])
    paths = [path for path in source.get(PATHS, "").split(os.pathsep) if path and path != own]
    if command[0] == sys.executable:
        paths.append(own)
    return {PATHS: os.pathsep.join(paths)} if paths else {}
