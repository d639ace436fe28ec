"""Page components that Streamlit does not provide.

Streamlit loads the JavaScript of a component as one module, so ``script`` joins its files.
"""

from __future__ import annotations

from pathlib import Path


def script(*names: str) -> str:
    """Return the text of the named JavaScript files in this folder, joined in this order."""
    return "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)
