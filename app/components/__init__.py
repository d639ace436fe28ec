"""Components that Streamlit does not provide. A component is one module, so its script files are concatenated."""

from __future__ import annotations

from pathlib import Path


def script(*names: str) -> str:
    """Return the text of these files of this folder, concatenated."""
    return "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)
