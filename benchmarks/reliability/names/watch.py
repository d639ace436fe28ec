"""Checks of a page with hostile names.

The page must show each name as it was typed, and no name may become an element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from playwright.sync_api import Dialog, Page, Request, TimeoutError

from benchmarks.reliability.names.hostile import HOST, NAMES

MARK = re.compile(r"Q\d\d")
SHOWN = r"""
() => {
  const found = [];
  const visit = root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE) {
        const at = node.parentElement;
        if (at && !at.closest('style, script, annotation, .katex') && /Q\d\d/.test(node.data)) found.push(block(at));
        continue;
      }
      if (node.shadowRoot) visit(node.shadowRoot);
      for (const name of ['href', 'src', 'xlink:href', 'action', 'srcdoc', 'data'])
        if (node.hasAttribute?.(name)) found.push([`<${node.tagName.toLowerCase()} ${name}>`, node.getAttribute(name)]);
      for (const { name, value } of node.attributes ?? [])
        if (/^on/.test(name)) found.push([`<${node.tagName.toLowerCase()} ${name}>`, `handler ${value}`]);
    }
  };
  // The text that a reader sees as one unit: a text of a figure, or the block around an inline element.
  const block = at => {
    if (at.closest('text')) return ['', at.closest('text').textContent];
    while (at.parentElement && getComputedStyle(at).display.startsWith('inline')) at = at.parentElement;
    return ['', at.textContent];
  };
  visit(document.documentElement);
  return found;
}
"""
AT_POINTS = """
() => [...document.querySelectorAll('.js-plotly-plot')].filter(g => g.checkVisibility()).flatMap(graph => {
  const points = [...graph.querySelectorAll('.scatterlayer .point, .scatterlayer .js-line, .heatmaplayer image')];
  return points.filter((_, i) => i % Math.ceil(points.length / 6) === 0).map(point => {
    const box = point.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  });
})
"""


@dataclass
class Watch:
    """Record of the faults found by the checks: requests to another host, dialogs, and names that are shown changed."""

    address: str
    outside: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    shown: int = 0
    pages: int = 0

    def follow(self, page: Page) -> None:
        """Record all requests and dialogs of a page from now on."""
        page.on("request", self._request)
        page.on("dialog", self._dialog)

    def look(self, page: Page, where: str) -> None:
        """Check all texts that ``page`` shows now, and the labels of the points of its figures."""
        self.pages += 1
        self._read(page, where)
        for x, y in page.evaluate(AT_POINTS):
            page.mouse.move(x, y)
            with suppress(TimeoutError):
                page.wait_for_selector(".hoverlayer .hovertext", timeout=150)
            self._read(page, f"{where}, label of a point")
        if page.evaluate("() => window.__hit"):
            self.wrong.append(f"{where}: a script ran")

    def _read(self, page: Page, where: str) -> None:
        for what, text in page.evaluate(SHOWN):
            if what:
                if made_of_a_name(text):
                    self.wrong.append(f"{where}: {what} {text[:100]}")
                continue
            for name, shown in names_in(text):
                self.shown += 1
                self.seen.add(name)
                if not shown:
                    self.wrong.append(f"{where}: {name!r} is shown as {clean(text)[:160]!r}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.outside.append(request.url)

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def made_of_a_name(value: str) -> bool:
    """Return whether the value of an attribute that loads or runs something contains a hostile name."""
    return bool(re.match(rf"\s*(https?:)?//[\w.]*{re.escape(HOST)}|\s*javascript:|mailto:|handler.*__hit", value))


def names_in(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each hostile name in ``text``, and whether it is shown as typed, or cut with an ellipsis at its end."""
    block = clean(text)
    for name in NAMES:
        mark, typed = MARK.findall(name)[0], clean(name)
        if mark in block:
            yield name, typed in block or _cut(block, mark, typed)


def _cut(block: str, mark: str, typed: str) -> bool:
    rest = block[max(0, block.find(mark) - typed.find(mark)) :]
    end = re.search(r"…|\.\.\.", rest)
    return bool(end) and typed.startswith(rest[: end.start()].rstrip()) if end else False


def clean(text: str) -> str:
    """Return ``text`` as a reader sees it: without invisible characters, and with single spaces."""
    return re.sub(r"\s+", " ", re.sub("[\u2060\u200b\u200e\u200f\u2066-\u2069\u202a-\u202e]", "", text)).strip()
