"""A report as one HTML file that opens without a network: the file contains plotly.js and loads nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from plotly.offline import get_plotlyjs

from isoplan.app.figures.style.theme import LIGHT, Drawing
from isoplan.app.reports.content import Report, Section, readable

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
"""Content security policy of the HTML file: the browser loads nothing from a network or from the disk."""
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #17242c; background: #fff;
  margin: 0 auto; max-width: 60rem; padding: 2rem 1.5rem 4rem; }
h1 { font-size: 1rem; font-weight: 600; color: #51616b; margin: 0 0 .5rem; }
.answer { font-size: 1.5rem; line-height: 1.35; font-weight: 600; margin: 0 0 1.5rem; }
.standing { display: inline-block; margin: -.75rem 0 1.5rem; padding: .1rem .6rem; border-radius: 1rem;
  background: #e3eaee; }
.assumed { color: #51616b; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #e3eaee; }
.sources td { overflow-wrap: anywhere; }
.sources th { width: 14rem; font-weight: 400; color: #51616b; }
.figure { width: 100%; margin: 1rem 0; }
figure { margin: 0; } figcaption, footer { color: #51616b; font-size: .9rem; }
@media print { .figure, table { break-inside: avoid; } }
"""
DRAW = """
for (const holder of document.querySelectorAll(".figure")) {
  const figure = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
  Plotly.newPlot(holder, figure.data, figure.layout, { responsive: true, displaylogo: false });
}
"""


def html_report(report: Report) -> bytes:
    """Return ``report`` as an HTML file, about 5 MB large because it contains plotly.js."""
    standing = f'<p class="standing">{escape(report.standing)}</p>' if report.standing else ""
    assumed = f'<p class="assumed">{escape(readable(report.assumed))}</p>' if report.assumed else ""
    body = [
        f"<h1>{escape(report.title)}</h1>",
        f'<p class="answer">{escape(readable(report.document.sentence))}</p>{standing}{assumed}',
        *(_section(section, i) for i, section in enumerate(report.sections)),
        *([f"<h2>Numbers</h2>{_table(report.head, report.rows)}"] if report.rows else []),
        *([f"<h2>Notes</h2>{_items(report.document.notes)}"] if report.document.notes else []),
        *(["<h2>Sources</h2>"] if report.sources else []),
        *(f"<h3>{escape(one.title)}</h3>{_properties(one.rows)}" for one in report.sources),
        f"<footer><p>{escape(report.made)}</p></footer>",
    ]
    drawn = any(section.draw is not None for section in report.sections)
    scripts = f"<script>{get_plotlyjs()}</script><script>{DRAW}</script>" if drawn else ""
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(report.title)}</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main>{scripts}</body></html>"
    )
    return page.encode("utf-8", "replace")


def _section(section: Section, i: int) -> str:
    """Return a section of the report as HTML; ``i`` is the number of the section and names its figure."""
    title = f"<h2>{escape(section.title)}</h2>" if section.title else ""
    text = f"<p>{escape(readable(section.text))}</p>" if section.text else ""
    figure = _figure(section.draw(LIGHT), i) if section.draw is not None else ""
    cells = [[readable(cell) for cell in row] for row in section.rows]
    return title + text + figure + (_table(section.head, cells) if cells else "")


def _figure(drawing: Drawing, i: int) -> str:
    """Return a figure as HTML: a text description for readers who cannot see the figure, and its data as JSON."""
    alt, height = escape(drawing.alt), int(drawing.figure.layout.height)
    data = str(drawing.figure.to_json()).replace("<", "\\u003c")
    return (
        f'<figure><div class="figure" role="img" aria-label="{alt}" data-figure="figure-{i}" '
        f'style="height:{height}px"></div><figcaption>{alt}</figcaption></figure>'
        f'<script type="application/json" id="figure-{i}">{data}</script>'
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="numbers"><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'


def _properties(rows: Iterable[tuple[str, str]]) -> str:
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(readable(shown))}</td></tr>' for name, shown in rows
    )
    return f'<table class="sources"><tbody>{body}</tbody></table>'


def _items(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(readable(text))}</li>' for text in texts)}</ul>"
