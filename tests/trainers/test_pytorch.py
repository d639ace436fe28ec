"""Messages about a missing or broken PyTorch, and about the detected GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from isoplan.trainers import pytorch
from isoplan.trainers.cell import CellError
from isoplan.trainers.families import find_family, read_cell
from tests.trainers.conftest import ROOT, add, run_all
from tests.trainers.jets.stream import Silent

CAUSE = "libcudart.so.13: cannot open shared object file: No such file or directory"
BROKEN = f"PyTorch is installed, but it cannot be imported ({CAUSE}). Install it again with its libraries: "


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Clear the cached result of importing torch before and after the test."""
    pytorch._failure.cache_clear()
    yield
    pytorch._failure.cache_clear()


def broken(folder: Path) -> Path:
    """Write a PyTorch package that lacks the CUDA libraries and return its folder."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(f"raise ImportError({CAUSE!r})\n")
    return folder


def fake(monkeypatch: pytest.MonkeyPatch, gpus: list[str]) -> None:
    """Replace torch by a module that detects ``gpus``."""
    cuda = SimpleNamespace(
        is_available=lambda: bool(gpus), device_count=lambda: len(gpus), get_device_name=lambda i: gpus[i]
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.13.0", cuda=cuda, __spec__="there"))
    monkeypatch.setattr(pytorch, "find_spec", lambda name: name)


def said(monkeypatch: pytest.MonkeyPatch, family: str, folder: Path, device: str = "cpu") -> str:
    """Return the error message of a training run of ``family``."""
    found = find_family(family, folder)
    stream: Any = Silent(folder)
    monkeypatch.setattr(stream, "device", device, raising=False)
    with pytest.raises(CellError) as refused:
        found.train(read_cell(found, {}), stream)
    return str(refused.value)


@pytest.mark.parametrize(
    ("family", "what"), [("jets", "Jets"), ("behavior", "Recommender cells"), ("amplitudes", "Amplitude surrogates")]
)
def test_a_torch_that_is_not_there_and_a_broken_one_are_two_sentences(
    family: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pytorch, "find_spec", lambda name: None)
        assert said(patch, family, tmp_path) == (
            f"{what} need PyTorch. PyTorch is not installed. Install it with pip install 'isoplan[train]'."
        )
    monkeypatch.setattr(pytorch, "find_spec", lambda name: name)
    monkeypatch.setattr(pytorch, "import_module", lambda name: exec(f"raise ImportError({CAUSE!r})"))
    assert said(monkeypatch, family, tmp_path).startswith(f"{what} need PyTorch. {BROKEN}")


def test_a_cell_on_a_broken_torch_fails_with_the_cause(root: Path) -> None:
    (name,) = add(root, {"jets": 100}, family="jets")
    (record,) = run_all(root, before=(broken(root / "packages"),)).values()
    assert record.name == name
    assert record.state == "failed"
    assert record.result is not None
    assert record.result["why"].startswith(f"Jets need PyTorch. {BROKEN}")


def test_the_line_of_a_broken_torch_names_the_cause(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(broken(tmp_path)), str(ROOT)])
    command = [sys.executable, "-P", "-m", "isoplan.trainers.pytorch"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Training: {BROKEN}{sys.executable} -m pip install --force-reinstall torch")
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_gpus_are_counted_and_one_that_torch_cannot_use_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, ["NVIDIA H100", "NVIDIA H100"])
    assert pytorch.describe(2) == "Training: PyTorch 2.13.0 sees 2 GPUs (NVIDIA H100)."
    pytorch.check_torch("Jets", "cuda:1")
    fake(monkeypatch, ["NVIDIA H100"])
    assert pytorch.describe(1) == "Training: PyTorch 2.13.0 sees 1 GPU (NVIDIA H100)."
    fake(monkeypatch, [])
    assert pytorch.describe(0) == "Training: PyTorch 2.13.0 sees no GPU. Cells run on the CPU."
    assert pytorch.describe(1) == (
        "Training: PyTorch 2.13.0 cannot use the GPUs of this machine (number: 1). Install the build of PyTorch for "
        "this GPU and its driver, or set the field device of cells to cpu."
    )
    pytorch.check_torch("Jets", "cpu")
    with pytest.raises(CellError, match=r"Jets run on a GPU here, but PyTorch 2\.13\.0 cannot use it\. Install the bu"):
        pytorch.check_torch("Jets", "cuda:0")
