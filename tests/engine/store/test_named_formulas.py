"""Named formulas: their results, compared with published models, and wrong calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.columns.named_formulas import expanded
from isoplan.engine.store.files.table_files import read_runs


def test_sizes_of_published_models(tmp_path: Path) -> None:
    """GPT-2 has 124, 355, 774 and 1,558 million parameters; its biases and positions are less than 1 %."""
    file = tmp_path / "gpt2.csv"
    rows = ((768, 12), (1024, 24), (1280, 36), (1600, 48))
    file.write_text("d_model,layers,loss,D\n" + "".join(f"{w},{d},3.1,1e9\n" for w, d in rows))
    runs = read_runs(file, derived={"N": 'transformer("d_model", layers, 50257)'})
    assert runs["N"] == pytest.approx([124e6, 355e6, 774e6, 1558e6], rel=0.01)
    blocks = read_runs(file, derived={"N": "transformer_blocks(d_model, layers)"})
    assert blocks["N"] == pytest.approx(runs["N"] - [50257 * w for w, _ in rows])


def test_compute_of_device_hours(tmp_path: Path) -> None:
    """One hour at 40 % of 989 TFLOP/s is 1.42e18 FLOPs."""
    file = tmp_path / "hours.csv"
    file.write_text("N,gpus,hours,loss\n1e6,8,2,3.1\n2e6,8,4,3.0\n")
    runs = read_runs(file, derived={"C": "device_hours(gpus * hours, 989e12, 0.4)"})
    assert runs["C"] == pytest.approx([16 * 3600 * 989e12 * 0.4, 32 * 3600 * 989e12 * 0.4])


def test_wrong_calls_are_one_sentence() -> None:
    with pytest.raises(
        PlannerError, match=r"transformer needs 3 inputs\. Write transformer\(width, depth, vocabulary\)\."
    ):
        expanded("transformer(a, b)")
    with pytest.raises(PlannerError, match="needs 2 inputs"):
        expanded("transformer_blocks(a, )")
    assert expanded("2 * transformer(a, b, c)") == "2 * transformer(a, b, c)"
    assert expanded('transformer_blocks("a, b", (c + d))') == '12 * ((c + d)) * ("a, b")^2'
