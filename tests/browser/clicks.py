"""Count the clicks and the typed fields of a journey through the pages.

    journey = Journey(page)
    steps.upload(page, "runs.csv", content)
    steps.press(page, "Fit law")
    journey.check(clicks=4, fields=1)

A script in the browser counts, so no click is missed. Each of these actions is one click: a press of a button, link,
tab or switch, by mouse or by keyboard; a choice from a list, including the click that opens the list; an upload of one
or several files; an arrow key in a story. Text typed into one field counts as one field, regardless of its length.
"""

from __future__ import annotations

import json

from playwright.sync_api import Page


class Journey:
    """Clicks and typed fields of ``page`` since the journey began. The counts persist across pages and reloads."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.add_init_script(_COUNT)
        page.evaluate(_COUNT)
        if page.url.startswith("http"):
            page.evaluate("sessionStorage.removeItem('journey')")

    def _seen(self, kind: str) -> list[str]:
        entries = json.loads(self._page.evaluate("sessionStorage.getItem('journey') || '[]'"))
        return [name for each, name in entries if each == kind]

    @property
    def clicked(self) -> list[str]:
        """Return the labels of the clicked controls, in order."""
        return self._seen("click")

    @property
    def typed(self) -> list[str]:
        """Return the labels of the fields with typed text, each label once per page."""
        return self._seen("field")

    @property
    def clicks(self) -> int:
        """Return the number of clicks."""
        return len(self.clicked)

    @property
    def fields(self) -> int:
        """Return the number of typed fields."""
        return len(self.typed)

    def check(self, clicks: int, fields: int = 0) -> None:
        """Check that the journey needed at most ``clicks`` clicks and ``fields`` typed fields."""
        assert self.clicks <= clicks, f"{self.clicks} clicks instead of {clicks}: {self.clicked}"
        assert self.fields <= fields, f"{self.fields} fields instead of {fields}: {self.typed}"


_COUNT = """
(() => {
  if (window.__journey) return;
  window.__journey = true;
  const note = (kind, name) => {
    const entries = JSON.parse(sessionStorage.getItem('journey') || '[]');
    sessionStorage.setItem('journey', JSON.stringify([...entries, [kind, name]]));
  };
  const PRESSED = 'button, a, summary, label, [role=option], [role=tab], [role=radio], [role=slider], input';
  const name = e => (e.getAttribute('aria-label') || (e.labels && e.labels[0] && e.labels[0].innerText)
    || e.innerText || e.tagName).trim().slice(0, 60);
  const typing = e => e.matches('textarea, input:not([type=checkbox], [type=radio], [type=range], [type=file])');
  const list = e => e.matches('[role=combobox], [aria-haspopup=listbox]') || e.closest('[data-baseweb=select]');
  addEventListener('pointerdown', event => {
    const target = event.target.closest(PRESSED);
    if (!event.isTrusted || !target || list(target) || target.closest('[data-testid=stFileUploaderDropzone]')) return;
    if (!typing(target)) note('click', name(target));
  }, true);
  addEventListener('change', event => {
    if (event.target.type === 'file') note('click', 'upload ' + [...event.target.files].map(f => f.name).join(', '));
  }, true);
  addEventListener('input', event => {
    const field = event.target;
    if (!typing(field) || list(field)) return;
    const label = location.pathname + ' ' + name(field);
    const entries = JSON.parse(sessionStorage.getItem('journey') || '[]');
    if (!entries.some(([kind, text]) => kind === 'field' && text === label)) note('field', label);
  }, true);
  addEventListener('keydown', event => {
    const target = event.target, arrow = event.key.startsWith('Arrow'), press = ['Enter', ' '].includes(event.key);
    if (press && list(target) && event.key === 'Enter') note('click', 'choice in ' + name(target));
    else if (press && target.closest('button, a, summary, [role=tab]')) note('click', name(target));
    else if (arrow && !event.repeat && !target.closest('input, textarea, [role=slider], [role=tab], [role=radio]')) {
      note('click', event.key);
    }
  }, true);
})()
"""
