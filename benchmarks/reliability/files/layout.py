"""Delimited text files: separators, encodings, line ends, quotation marks, and lines that are not runs."""

from __future__ import annotations

import codecs

import numpy as np

from benchmarks.reliability.files.case import (
    HEADER,
    Case,
    Cases,
    Expected,
    cell,
    content,
    grid,
    quoted,
    reads,
    refuses,
    spelled,
    table,
    without,
)

KIND = "delimited text"
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
ENCODINGS = {
    "utf-8": (b"", "utf-8", ""),
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8", ""),
    "utf-16 with mark": (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    "utf-16 big with mark": (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
    "utf-16 without mark": (b"", "utf-16-le", "UTF-16"),
    "latin-1": (b"", "latin-1", "Latin-1"),
}
ENDS = {"windows": "\r\n", "old mac": "\r", "unix": "\n"}


def cases(rng: np.random.Generator) -> Cases:
    """Yield all files of this module."""
    yield from _separators(rng)
    yield from _lines(rng)
    yield from _around(rng)
    yield from _marks(rng)
    yield from _ragged(rng)
    yield from _characters(rng)
    yield from _almost_empty(rng)


def _text(name: str, text: str | bytes, expected: Expected) -> Case:
    return content(name if "." in name else f"{name}.csv", KIND, text, expected)


def _separators(rng: np.random.Generator) -> Cases:
    for sep_name, sep in SEPARATORS.items():
        for encoding_name, (mark, encoding, note) in ENCODINGS.items():
            rows = grid(rng)
            cells = cell(spelled(rows), 3, 0, "modèle")
            sent = mark + table(cells, sep=sep).encode(encoding)
            yield _text(f"{sep_name} {encoding_name}", sent, reads(rows, *[note] * bool(note)))
        for end_name, end in ENDS.items():
            rows = grid(rng)
            yield _text(f"{sep_name} lines of {end_name}", table(spelled(rows), sep=sep, end=end), reads(rows))
            rows = grid(rng)
            text = quoted(cell(spelled(rows), 1, 0, f'a "{sep}" b'), sep=sep, end=end)
            yield _text(f"{sep_name} quoted lines of {end_name}", text, reads(rows))
        rows = grid(rng)
        yield _text(f"{sep_name} in a text file.txt", table(spelled(rows), sep=sep), reads(rows))


def _lines(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    text = table(spelled(rows))
    head, *lines = text.splitlines()
    yield _text("no last line end", text.rstrip("\n"), reads(rows))
    yield _text("blank lines at the end", text + "\n\n\n", reads(rows))
    yield _text("blank lines at the start", "\n\n" + text, reads(rows))
    yield _text("blank lines between", "\n\n".join([head, *lines]) + "\n", reads(rows))
    yield _text("lines of spaces at the start", "  \n\t\n" + text, reads(rows))
    # For a person both kinds of line ends are the same. Isoplan refuses the file, because it could miss a line end and
    # read two lines as one.
    yield _text("mixed line ends", f"{head}\r\n" + "".join(f"{x}\n" for x in lines), refuses("lines"))
    yield _text("mixed line ends later", text + f"{lines[0]}\r\n", refuses("lines"))
    yield _text("windows header only", f"{head}\r\n" + "\n".join(lines) + "\n", refuses("lines"))
    yield _text(
        "lines of spaces between", f"{head}\n{lines[0]}\n   \n" + "\n".join(lines[1:]) + "\n", refuses("Line 3")
    )
    yield _text("lines of separators at the end", text + ",,,\n,,,\n", reads(rows, "2 rows"))
    yield _text("end of file mark of DOS", text + "\x1a", refuses("Line"))
    yield _text("very long cell", table(cell(spelled(rows), 2, 0, "x" * 1_000_000)), reads(rows))
    yield _text("cell over the buffer", table(cell(spelled(rows), 2, 0, "x" * 40_000_000)), refuses("cannot be read"))
    yield _text("very long header", table(spelled(rows), ("r" * 70_000, *HEADER[1:])), reads(rows))


def _around(rng: np.random.Generator) -> Cases:
    """Yield files with lines that are not runs, before, between and after the runs."""
    rows = grid(rng)
    text = table(spelled(rows))
    head, *lines = text.splitlines()
    total = [sum(r[i] for r in rows) for i in range(3)]
    whole = f"Total,{total[0]:.0f},{total[1]:.0f},{total[2]:.4f}\n"
    yield _text("title row", f"Runs of March\n{text}", reads(rows, "1 row of text above"))
    yield _text("title row with separators", f"Runs of March,,,\n{text}", reads(rows, "1 row of text above"))
    yield _text("title and blank row", f"Runs of March\n\n{text}", reads(rows, "1 row of text above"))
    yield _text("comment lines", f"# runs of March\n# by hand\n{text}", reads(rows, "2 rows of text above"))
    yield _text("comment lines with separators", f"# runs, of, March, all\n{text}", reads(rows, "one header"))
    yield _text("separator line of Excel", "sep=;\n" + table(spelled(rows), sep=";"), reads(rows))
    yield _text("units row", f"{head}\n,params,tokens,nats\n" + "\n".join(lines) + "\n", reads(rows, "units"))
    yield _text("header repeated", text + text, refuses("'N' in row"))
    yield _text("second table below", text + "\nname,lr,steps,acc\nx,0.1,100,0.5\n", reads(rows, "only rows 1 to 13"))
    yield _text("narrow table below", text + "\nname,lr\nx,0.1\n", refuses("Line"))
    yield _text("total row without loss", text + "Total,1,2,\n", reads(rows, "1 row without a loss"))
    yield _text("total row", text + whole, reads(rows, "1 row called 'Total'"))
    mean = f"Mean,{total[0] / 12:.1f},{total[1] / 12:.1f},{total[2] / 12:.4f}\n"
    yield _text("mean row", text + mean, reads(rows, "1 row called 'Mean'"))
    yield _text("mean and total row", text + mean + whole, reads(rows, "2 rows called 'Mean' or 'Total'"))
    yield _text("total label alone", text + f"Total,,,{total[2]:.4f}\n", reads(rows, "1 row without N"))
    yield _text("closing line", text + "-- 12 rows --\n", reads(rows, "the last row"))
    yield _text("rule of dashes", f"{head}\n---,---,---,---\n" + "\n".join(lines) + "\n", refuses("'---'"))
    markdown = "".join(f"| {' | '.join(line)} |\n" for line in (HEADER, ["---"] * 4, *spelled(rows)))
    yield _text("markdown table.txt", markdown, refuses("---"))
    html = "<table>" + "".join(f"<tr><td>{'</td><td>'.join(x)}</td></tr>\n" for x in (HEADER, *spelled(rows)))
    yield _text("html table", html, refuses("N"))
    latex = "".join(" & ".join(x) + r" \\" + "\n" for x in (HEADER, *spelled(rows)))
    yield _text("latex table.txt", latex, refuses("N"))
    yield _text("transposed", "\n".join(",".join(x) for x in zip(HEADER, *spelled(rows), strict=True)), refuses("N"))


def _marks(rng: np.random.Generator) -> Cases:
    """Yield files with quotation marks."""
    rows = grid(rng)
    cells = spelled(rows)
    for name, label in {
        "line end in a cell": '"two\nlines"',
        "windows line end in a cell": '"two\r\nlines"',
        "separator in a cell": '"a,b,c"',
        "marks in a cell": '"say ""yes"""',
        "lonely mark in a cell": '5" screen',
        "single marks": "'a'",
        "curly marks": "“a”",
        "backslash at the end": "a\\",
        "empty marks": '""',
    }.items():
        yield _text(name, table(cell(cells, 4, 0, label)), reads(rows))
    for i, spell in enumerate(("'{}'", "`{}`")):
        marked = table([[c if j == 0 else spell.format(c) for j, c in enumerate(line)] for line in cells])
        yield _text(f"numbers in other marks {i}", marked, refuses("N"))
    yield _text("mark not closed", table(cell(cells, 4, 0, '"open')), refuses("Line"))
    yield _text("mark not closed in the last line", table(cell(cells, 11, 0, '"open')), refuses("Line"))
    yield _text("mark not closed in the header", table(cells, ('"run', *HEADER[1:])), refuses("quotation mark"))
    yield _text("text after a mark", table(cell(cells, 4, 0, '"a"b')), refuses("Line"))
    yield _text("backslash before a mark", table(cell(cells, 4, 0, '"a\\"b"')), refuses("Line"))
    yield _text("separator in single marks", table(cell(cells, 4, 0, "'a,b'")), refuses("Line 6"))
    for i, end in enumerate(("\n", "\r\n")):
        for place, name in enumerate(HEADER):
            wrapped = [*HEADER[:place], f'"{name}{end}"', *HEADER[place + 1 :]]
            yield _text(f"line end {i} in name {place} of the header", table(cells, wrapped, end=end), reads(rows))
    named = (*HEADER, 'the "best" of them')
    yield _text("marks inside a name of the header", table([[*c, "1"] for c in cells], named), reads(rows))
    yield _text(
        "name of the header half in marks", table([[*c, "1"] for c in cells], (*HEADER, '"a" b')), refuses("header")
    )
    yield _text("header in marks only", quoted([]) + table(cells).split("\n", 1)[1], reads(rows))


def _ragged(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    text = table(spelled(rows))
    head, *lines = text.splitlines()
    for place in (0, 6, 11):
        short, long = list(lines), list(lines)
        short[place] = short[place].rpartition(",")[0]
        long[place] += ",5"
        for name, changed in (("short", short), ("long", long)):
            yield _text(f"{name} line {place + 2}", "\n".join([head, *changed]) + "\n", refuses(f"Line {place + 2}"))
    many = table(spelled(rows) * 1000)
    yield _text("short line far down", many + "a,1\n", refuses("Line 12002"))
    yield _text("separator at the end of lines", text.replace("\n", ",\n"), reads(rows, "no name"))
    yield _text("separator at the end of runs", f"{head}\n" + "".join(f"{x},\n" for x in lines), reads(rows))
    yield _text("separator at the end of the header", f"{head},\n" + "\n".join(lines), refuses("Line 2"))
    empty = cell(cell(spelled(rows), 2, 3, ""), 5, 1, "")
    yield _text("empty cells", table(empty), reads(without(rows, 2, 5), "1 row without N", "1 row without a loss"))
    yield _text("decimal comma between commas", text.replace(".", ","), refuses("Line 2"))


def _characters(rng: np.random.Generator) -> Cases:
    """Yield files with spaces and invisible characters."""
    rows = grid(rng)
    cells = spelled(rows)
    text = table(cells)
    yield _text("spaces after commas", table(cells, sep=", "), reads(rows))
    yield _text("spaces around commas", table(cells, sep="  ,  "), reads(rows))
    yield _text("columns by spaces.txt", table(cells, sep="   "), refuses("N"))
    yield _text("numbers by spaces.txt", table([c[1:] for c in cells], HEADER[1:], sep=" "), refuses("spaces"))
    spaced = table([[c[0], f"\xa0{c[1]}", *c[2:]] for c in cells])
    yield _text("no-break spaces before numbers", spaced, reads(rows))
    yield _text("spaces in the header", table(cells, [f" {h} " for h in HEADER]), reads(rows))
    yield _text("mark of utf-8 inside", table(cells, ("run", "\ufeffN", "D", "loss")), reads(rows))
    yield _text("mark of utf-8 twice", "\ufeff\ufeff" + table([c[1:] for c in cells], HEADER[1:]), reads(rows))
    yield _text("width of zero in the header", table(cells, ("run", "N\u200b", "D", "loss")), reads(rows))
    yield _text("zero byte", text.replace("r3", "r\0"), refuses("zero bytes"))
    yield _text("zero byte far down", table(cells * 1000) + "\0", refuses("zero bytes"))
    yield _text("control characters", table(cell(cells, 4, 0, "\x01\x07\x1b[31m")), reads(rows))
    yield _text("line separators of unicode", table(cell(cells, 4, 0, "a\u2028b\u2029c\x85d")), reads(rows))
    yield _text("surrogate bytes", table(cells).encode().replace(b"r3", b"\xed\xa0\x80"), reads(rows, "Latin-1"))
    yield _text("broken utf-8", table(cells).encode().replace(b"r3", b"\xc3("), reads(rows, "Latin-1"))
    yield _text("utf-16 cut", table(cells).encode("utf-16")[:-1], refuses("UTF-16"))
    yield _text("utf-32", table(cells).encode("utf-32"), reads(rows, "UTF-32"))
    yield _text("utf-32 cut", table(cells).encode("utf-32")[:-2], refuses("UTF-32"))
    yield _text("form feeds", table(cell(cells, 4, 0, "\f\v")), reads(rows))


def _almost_empty(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    text = table(spelled(rows[:1]))
    yield _text("empty", b"", refuses("is empty"))
    yield _text("mark of utf-8 alone", codecs.BOM_UTF8, refuses("blank"))
    yield _text("mark of utf-16 alone", codecs.BOM_UTF16_LE, refuses("blank"))
    yield _text("line ends alone", "\n\r\n\n", refuses("blank"))
    yield _text("separators alone", ",,,\n,,,\n", refuses("N"))
    yield _text("header alone", table([]), refuses("no rows"))
    yield _text("header without line end", table([]).strip(), refuses("no rows"))
    yield _text("one run", text, reads(rows[:1], unfit="1 run"))
    yield _text("four runs", table(spelled(rows[:4])), reads(rows[:4], unfit="run"))
    yield _text("no header", text.split("\n", 1)[1].replace("r0,", "1,"), refuses("add a header"))
    yield _text("one column", "loss\n" + "".join(f"{r[2]:.4f}\n" for r in rows), refuses("N"))
    yield _text("one cell", "7", refuses("header"))
    yield _text("one letter", "N", refuses("no rows"))
    yield _text("prose.txt", "We trained twelve runs.\nThe loss fell.\n", refuses("N"))
