"""The scripts of our components: what each one needs, put before its own lines, because a component is one module."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def script(*names: str) -> str:
    """The text of those files of this folder, one after the other."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)
