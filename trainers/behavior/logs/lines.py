"""Lines of ``user item``: spaces, headings, and the names by which columns are recognised."""

from __future__ import annotations

import io
import re
from typing import Any

USER = ("user", "user_id", "userid", "uid", "customer", "customer_id", "visitor_id", "visitorid", "reviewerid")
ITEM = (
    "item",
    "item_id",
    "itemid",
    "iid",
    "product",
    "product_id",
    "article_id",
    "parent_asin",
    "asin",
    "movieid",
    "sku",
)
TIME = ("time", "timestamp", "ts", "datetime", "date", "event_time", "created_at", "unixreviewtime")
TEXT = ("text", "title", "description", "name", "item_name", "product_name")


WIDE = {" ": re.compile(rb"[ \t]{2,}|\t"), "\t": re.compile(rb" *\t[ \t]+| +\t")}
"""What stands for one delimiter between two cells beside the delimiter itself."""
EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)", re.MULTILINE)


def tidy(lines: bytes, delimiter: str) -> bytes:
    """Whole lines with one delimiter between their cells, and none before the first and after the last."""
    return EDGES.sub(b"", WIDE[delimiter].sub(delimiter.encode(), lines))


def delimiter_of(line: str) -> str:
    """What stands between the cells of a line: a tab, else spaces."""
    return "\t" if "\t" in line.strip() else " "


def names_columns(line: str) -> bool:
    """Whether the user or the item of a line is the name of a column, in this order."""
    cells = _cells(line)
    return len(cells) == 2 and (cells[0] in USER or cells[1] in ITEM)


def names_item_first(line: str) -> bool:
    """Whether a line is the names of a column of items and of one of users."""
    cells = _cells(line)
    return len(cells) == 2 and cells[0] in ITEM and cells[1] in USER


def _cells(line: str) -> list[str]:
    return [cell.strip().lower() for cell in line.split(delimiter_of(line)) if cell.strip()]


class Tidied(io.RawIOBase):
    """A file of such lines, read ``block`` bytes at a time and handed on tidy."""

    def __init__(self, file: Any, delimiter: str, block: int) -> None:
        self.file, self.delimiter, self.block = file, delimiter, block
        self.ready, self.rest, self.ended = b"", b"", False

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, none at the end alone."""
        while not self.ready and not self.ended:
            found = self.file.read(self.block)
            whole, self.ended = self.rest + found, not found
            cut = len(whole) if self.ended or len(whole) > 2 * self.block else whole.rfind(b"\n") + 1
            self.ready, self.rest = tidy(whole[:cut], self.delimiter), whole[cut:]
        size = len(self.ready) if size < 0 else size
        part, self.ready = self.ready[:size], self.ready[size:]
        return part
