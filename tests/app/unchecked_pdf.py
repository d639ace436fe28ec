"""The converter's child without the checks of ``app.svg``."""

from __future__ import annotations

import sys

from app import pdfchild, svg

if __name__ == "__main__":
    svg.check = lambda svg: None
    pdfchild.main(int(sys.argv[1]), int(sys.argv[2]))
