"""The environment variables of a program: a short list, names in its description, and those of its cell.

Other variables are not passed. They may contain keys of services, passwords in addresses of proxies, and settings of
Isoplan.
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
        # Paths of programs, libraries and environments.
        *("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"),
        # User, language, time zone and temporary folder.
        *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        # Visible GPUs.
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    }
)
PREFIXES = ("LC_", "OMP_", "KMP_", "SLURM_", "_CONDOR_")
"""Prefixes of names that are passed too: languages, placement of threads, batch jobs."""
NEVER = frozenset({"SLURM_JWT"})
"""Names with such a prefix that contain a key and are not passed."""
THREADS = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
"""Libraries whose ``..._NUM_THREADS`` is set to the number of threads of the cell."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PATHS = "PYTHONPATH"


def environment_of(
    command: Sequence[str], named: Sequence[str], threads: int, given: Mapping[str, str], source: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables for ``command``: those of ``source`` that are passed or ``named``, and ``given`` ones.

    ``threads`` are those of the cell. A name in ``named`` that ``source`` lacks is ignored.
    """
    passed = {name: value for name, value in source.items() if name in named or _is_passed(name)}
    limits = {f"{library}_NUM_THREADS": str(threads) for library in THREADS}
    return {**passed, **_paths(command, source), "PYTHONUNBUFFERED": "1", **limits, **given}


def _is_passed(name: str) -> bool:
    return name in PASSED or (name.startswith(PREFIXES) and name not in NEVER)


def _paths(command: Sequence[str], source: Mapping[str, str]) -> dict[str, str]:
    """Return the module path of Python without the folder of Isoplan, whose ``data`` would hide the program's.

    If the program runs with Isoplan's Python, the folder of Isoplan comes last.
    """
    own = str(Path(isoplan.__file__).parents[1])
    paths = [path for path in source.get(PATHS, "").split(os.pathsep) if path and path != own]
    if command[0] == sys.executable:
        paths.append(own)
    return {PATHS: os.pathsep.join(paths)} if paths else {}
