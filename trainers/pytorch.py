"""State of PyTorch: whether it is installed, can be imported, and can use a GPU.

``python -m isoplan.trainers.pytorch`` prints this state in one line.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.cell import Cell, CellError, RunContext

INSTALL = "Install it with pip install 'isoplan[train]'"
BUILD = "Install the build of PyTorch for this GPU and its driver"


def check_torch(what: str, device: str = "cpu") -> None:
    """Check that PyTorch can be imported and can use ``device``. Raises CellError if not.

    ``what`` is a plural noun for the error message. It names the cells (training runs) that need PyTorch.
    """
    if reason := why_missing():
        raise CellError(f"{what} need PyTorch. {reason}")
    torch: Any = import_module("torch")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise CellError(
            f"{what} run on a GPU here, but PyTorch {torch.__version__} cannot use it. {BUILD}, or set the "
            f"field device to cpu."
        )


def train_with_torch(what: str, module: str, root: Path, cell: Cell, stream: RunContext) -> Mapping[str, float]:
    """Train a cell of the workspace ``root`` with the function ``train`` of ``module``.

    The module is imported only when this function is called. Raises the errors of ``check_torch`` and of ``train``.
    """
    check_torch(what, stream.device)
    metrics: Mapping[str, float] = import_module(f"isoplan.trainers.{module}").train(root, cell, stream)
    return metrics


def why_missing() -> str:
    """Return sentences that say why PyTorch cannot be imported and what to do, or "" if PyTorch can be imported."""
    if find_spec("torch") is None:
        return f"PyTorch is not installed. {INSTALL}."
    if not (cause := _failure()):
        return ""
    again = f"{sys.executable} -m pip install --force-reinstall torch{_pin()}"
    return f"PyTorch is installed, but it cannot be imported ({cause}). Install it again with its libraries: {again}."


@cache  # after a failed import, a second import raises another error
def _failure() -> str:
    """Return the error with which the import of PyTorch fails, or "" if it succeeds."""
    try:
        import_module("torch")
    except Exception as error:  # a missing library raises ImportError or OSError, a wrong library any error
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return lines[0].strip().removesuffix(".")
    return ""


def _pin() -> str:
    """Return the version of the installed PyTorch as a pip requirement such as "==2.5.1", or "" if it is unknown."""
    try:
        return "==" + version("torch").partition("+")[0]
    except PackageNotFoundError:
        return ""


def describe(gpus: int) -> str:
    """Return one line about the device on which bundled families train.

    ``gpus`` is the number of GPUs of this machine.
    """
    if reason := why_missing():
        return f"Training: {reason}"
    torch: Any = import_module("torch")
    if torch.cuda.is_available():
        names = sorted({torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())})
        count = torch.cuda.device_count()
        number = "1 GPU" if count == 1 else f"{count} GPUs"
        return f"Training: PyTorch {torch.__version__} sees {number} ({', '.join(names)})."
    if gpus:
        return (
            f"Training: PyTorch {torch.__version__} cannot use the GPUs of this machine (number: {gpus}). {BUILD}, or "
            f"set the field device of cells to cpu."
        )
    return f"Training: PyTorch {torch.__version__} sees no GPU. Cells run on the CPU."


if __name__ == "__main__":
    print(describe(len(this_machine().gpus)), flush=True)
