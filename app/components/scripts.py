"""Scripts of the components: the required files of each are concatenated, because a component is one module."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def script(*names: str) -> str:
    """Return the text of these files of this folder, concatenated."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)
