"""Delimited text files in which numbers are written in many ways."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.reliability.files.case import (
    HEADER,
    Case,
    Cases,
    Expected,
    Rows,
    asks,
    cell,
    column,
    content,
    grid,
    quoted,
    reads,
    refuses,
    spelled,
    table,
    with_losses,
    without,
)

KIND = "numbers in text"
N, LOSS = 1, 3
Spell = Callable[[float], str]
AGREED = ("--convert", "N")

# Spellings of N that Isoplan reads as numbers without a conversion.
PLAIN: dict[str, Spell] = {
    "with a point": lambda n: f"{n:.1f}",
    "with a last point": lambda n: f"{n:.0f}.",
    "with a sign": lambda n: f"+{n:.0f}",
    "with zeros before": lambda n: f"{n:015.0f}",
    "with spaces": lambda n: f"  {n:.0f} ",
    "with tabs": lambda n: f"\t{n:.0f}\t",
    "with e": lambda n: f"{n:.6e}",
    "with E": lambda n: f"{n:.6E}",
    "with three digits of exponent": lambda n: f"{n:.6e}".replace("e+", "e+0"),
    "with e without sign": lambda n: f"{n / 1e6:.4f}e6",
    "in marks": lambda n: f'"{n:.0f}"',
    "with 40 digits": lambda n: f"{n:.0f}.{'0' * 40}",
}
# Spellings of N that a person can read. Isoplan converts them only after the user agrees.
AGREEABLE: dict[str, Spell] = {
    "in M": lambda n: f"{n / 1e6:.10g}M",
    "in m": lambda n: f"{n / 1e6:.10g}m",
    "in M after a space": lambda n: f"{n / 1e6:.10g} M",
    "in M with a sign": lambda n: f"+{n / 1e6:.10g}M",
    "in k": lambda n: f"{n / 1e3:.10g}k",
    "in K": lambda n: f"{n / 1e3:.10g}K",
    "in B": lambda n: f"{n / 1e9:.10g}B",
    "in G": lambda n: f"{n / 1e9:.10g}G",
    "in T": lambda n: f"{n / 1e12:.10g}T",
    "in M or B": lambda n: f"{n / 1e9:.10g}B" if n > 1e8 else f"{n / 1e6:.10g}M",
    "in M or in full": lambda n: f"{n:.0f}" if n > 1e8 else f"{n / 1e6:.10g}M",
    "as powers": lambda n: f"{n / 1e6:.10g}*10^6",
    "as powers with x": lambda n: f"{n / 1e6:.10g}x10^6",
    "as powers with a cross": lambda n: f"{n / 1e6:.10g} × 10^6",
    "grouped by commas": lambda n: f'"{n:,.0f}"',
    "grouped by spaces": lambda n: f"{n:,.0f}".replace(",", " "),
    "grouped by no-break spaces": lambda n: f"{n:,.0f}".replace(",", "\xa0"),
    "grouped by narrow spaces": lambda n: f"{n:,.0f}".replace(",", "\u202f"),
    "grouped by apostrophes": lambda n: f"{n:,.0f}".replace(",", "'"),
    "grouped by curly apostrophes": lambda n: f"{n:,.0f}".replace(",", "’"),
    "grouped by points": lambda n: f"{n:,.0f}".replace(",", "."),
}
# Spellings of N that Isoplan cannot convert. It refuses the file and names the cell.
UNREADABLE: dict[str, Spell] = {
    "with superscripts": lambda n: f"{n / 1e6:.10g}×10⁶",
    "with d of Fortran": lambda n: f"{n / 1e6:.10g}d6",
    "with a space before e": lambda n: f"{n / 1e6:.10g} e6",
    "in hexadecimal": lambda n: hex(int(n)),
    "in octal": lambda n: oct(int(n)),
    "in binary": lambda n: bin(int(n)),
    "with a unit": lambda n: f"{n:.0f} params",
    "about": lambda n: f"~{n:.0f}",
    "above": lambda n: f">{n:.0f}",
    "as money": lambda n: f"${n:.0f}",
    "as a formula of Excel": lambda n: f'"=""{n:.0f}"""',
    "as an expression": lambda n: f"{n / 1e6:.10g}*1000*1000",
    "with wide digits": lambda n: f"{n:.0f}".translate({48 + i: 0xFF10 + i for i in range(10)}),
    "with arabic digits": lambda n: f"{n:.0f}".translate({48 + i: 0x660 + i for i in range(10)}),
    "as words": lambda n: f"{n / 1e6:.10g} million",
    "as a range": lambda n: f"{n:.0f}-{2 * n:.0f}",
    "with odd groups": lambda n: f'"{n / 1e5:,.0f},00,000"',
    "with an l": lambda n: f"{n:.0f}L",
    "in quotes of quotes": lambda n: f'"""{n:.0f}"""',
}
# Texts for a single loss that is missing, infinite, or not a number. The other losses are as usual.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None", "nan", "NaN", "NAN", '""', "-nan")
INFINITE = ("inf", "-inf", "Infinity", "INF", "+inf", "-Infinity")
NO_NUMBER = (
    *("-", "--", "?", ".", "diverged", "OOM", "failed", "#DIV/0!", "#VALUE!", "#REF!", "1.#QNAN", "1.#INF", "∞"),
    *(">5.2", "~3.1", "3.1±0.1", "3.1(2)", "3.1*", "3_5", "3__5", "_35", "0x10", "TRUE", "yes", "2024-01-05"),
    *("01:02:03", "3.1.2", "1e", "e5", "5-6", "(5.2)", "5.2-", "1/2", '"3,1"', "−3.1", "3.1 4.2", "nil", "1d0"),
    *("missing", "٣", "３", "1.5f", "$3.1", "3.1 nats", "31%", "3·1", "0b11", "1e5e5", "--3", "+-3", "3500m x"),
)
"""Texts that are not numbers. A file with one of them in the column of the loss must be refused."""


def cases(rng: np.random.Generator) -> Cases:
    """Yield all files of this module."""
    yield from _of_sizes(rng)
    yield from _of_losses(rng)
    yield from _one_cell(rng)
    yield from _extremes(rng)
    yield from _kinds(rng)


def _text(name: str, text: str, expected: Expected) -> Case:
    return content(f"{name}.csv", KIND, text, expected)


def _sizes(rows: Rows, spell: Spell) -> list[list[str]]:
    return column(spelled(rows), N, lambda text: spell(float(text)))


def _losses(rows: Rows, spell: Callable[[str], str]) -> list[list[str]]:
    return column(spelled(rows), LOSS, spell)


def _of_sizes(rng: np.random.Generator) -> Cases:
    for name, spell in PLAIN.items():
        rows = grid(rng)
        yield _text(f"N {name}", table(_sizes(rows, spell)), reads(rows))
    for name, spell in AGREEABLE.items():
        rows = grid(rng)
        yield _text(f"N {name}", table(_sizes(rows, spell)), asks("--convert N", AGREED, rows))
    for name, spell in UNREADABLE.items():
        rows = grid(rng)
        yield _text(f"N {name}", table(_sizes(rows, spell)), refuses("N"))
    rows = grid(rng)
    # A person reads 1_000_000 as a number. Isoplan converts it only after the user agrees.
    yield _text("N grouped by underscores", table(_sizes(rows, lambda n: f"{n:_.0f}")), asks("N", AGREED, rows))
    both = column(_sizes(rows, AGREEABLE["in M"]), 2, lambda d: f"{float(d) / 1e9:.10g}B")
    answers = (*AGREED, "--convert", "D")
    yield _text("N and D with suffixes", table(both), asks("--convert", answers, rows))


def _of_losses(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    comma = _losses(rows, lambda text: text.replace(".", ","))
    short = with_losses(rows, [round(r[2], 3) + (round(r[2] * 1e3) % 10 == 0) / 1e3 for r in rows])
    brief = [[*c[:3], f"{r[2]:.3f}".replace(".", ",")] for c, r in zip(spelled(rows), short, strict=True)]
    short = with_losses(rows, [float(line[3].replace(",", ".")) for line in brief])
    thousands = with_losses(rows, [float(line[3].replace(",", "")) for line in brief])
    agreed, chosen = ("--convert", "loss"), ("--convert", "loss:comma")
    for sep_name, sep in {"semicolons": ";", "tabs": "\t", "bars": "|"}.items():
        yield _text(f"decimal commas between {sep_name}", table(comma, sep=sep), asks("--convert", agreed, rows))
        how = agreed if sep == ";" else chosen
        text = table(brief, sep=sep)
        yield _text(f"decimal commas of 3 digits between {sep_name}", text, asks("--convert", how, short))
    yield _text("decimal commas in marks", quoted(comma), asks("--convert", agreed, rows))
    yield _text("decimal commas of 3 digits in marks", quoted(brief), asks("loss:comma", chosen, short))
    yield _text("groups of 3 digits in marks", quoted(brief, (*HEADER[:3], "loss")), asks(
        "loss:thousands", ("--convert", "loss:thousands"), thousands
    ))  # fmt: skip
    mixed = [[*c[:3], c[3].replace(",", ".") if i % 2 else c[3]] for i, c in enumerate(brief)]
    # If 3.251 and 3,512 are in one column, each meaning of the comma makes one of the two losses absurd.
    yield _text("points and commas of 3 digits", table(mixed, sep=";"), refuses("loss"))
    long = [[*c[:3], c[3].replace(",", ".") if i % 2 else c[3]] for i, c in enumerate(comma)]
    yield _text("points and commas of 4 digits", table(long, sep=";"), refuses("loss"))
    every = [
        [c[0], f"{r[0]:,.0f}".replace(",", "."), c[2], c[3].replace(".", ",")]
        for c, r in zip(spelled(rows), rows, strict=True)
    ]
    yield _text("all of a German table", table(every, sep=";"), asks("--convert", (*AGREED, *agreed), rows))
    short_d = tuple((n, max(d // 1e7, 1) * 1e3, loss) for n, d, loss in rows)
    points = [[c[0], c[1], f"{r[1] / 1e3:.0f}.000", c[3]] for c, r in zip(comma, short_d, strict=True)]
    for reading, d_rows in {"comma": short_d, "point": tuple((n, d / 1e3, loss) for n, d, loss in short_d)}.items():
        expected = asks("D:comma", ("--convert", f"D:{reading}", *agreed), d_rows)
        yield _text(f"points before 3 digits and decimal commas, {reading}", table(points, sep=";"), expected)
    for name, spell in {
        "percent": lambda t: f"{float(t) * 100:.2f}%",
        "a unit": lambda t: f"{t} nats",
        "errors": lambda t: f"{t}±0.01",
        "errors in brackets": lambda t: f"{t}(12)",
        "stars": lambda t: f"{t}*",
        "brackets": lambda t: f"({t})",
        "milli": lambda t: f"{float(t) * 1000:.0f}m",
        "arrows": lambda t: f"↓{t}",
        "middle points": lambda t: t.replace(".", "·"),
    }.items():
        yield _text(f"loss with {name}", table(_losses(rows, spell)), refuses("loss"))
    yield _text("loss with exponents", table(_losses(rows, lambda t: f"{t}E+00")), reads(rows))
    yield _text("loss with a leading point", table(_losses(rows, lambda t: f".{t.replace('.', '')}e1")), reads(rows))
    exact = with_losses(rows, [r[2] + float(x) for r, x in zip(rows, rng.uniform(0, 1e-5, len(rows)), strict=True)])
    text = table([[*c[:3], repr(r[2]) + "0" * 30] for c, r in zip(spelled(exact), exact, strict=True)])
    yield _text("loss with all digits", text, reads(exact))


def _one_cell(rng: np.random.Generator) -> Cases:
    """Yield files in which the loss of one random row has a special text."""
    for tokens, word in ((MISSING, "1 row without a loss"), (INFINITE, "infinite loss")):
        for i, token in enumerate(tokens):
            rows = grid(rng)
            place = int(rng.integers(12))
            text = table(cell(spelled(rows), place, LOSS, token))
            what = "missing" if tokens is MISSING else "infinite"
            yield _text(f"loss {what} {i}", text, reads(without(rows, place), word))
    for i, token in enumerate(NO_NUMBER):
        rows = grid(rng)
        place = int(rng.integers(12))
        yield _text(f"loss no number {i}", table(cell(spelled(rows), place, LOSS, token)), refuses("loss"))
    rows = grid(rng)
    yield _text("loss of spaces", table(cell(spelled(rows), 4, LOSS, "   ")), reads(without(rows, 4), "1 row"))
    late = spelled(rows) * 600
    yield _text("no number far down", table(cell(late, 7000, LOSS, "diverged")), refuses("'diverged' in row 7000"))
    states = [[*c, "diverged" if i == 3 else "killed" if i == 5 else "finished"] for i, c in enumerate(spelled(rows))]
    kept = reads(without(rows, 3, 5), "1 row that diverged", "1 row that did not finish")
    yield _text("column of states", table(states, (*HEADER, "status")), kept)


def _extremes(rng: np.random.Generator) -> Cases:
    """Yield files with numbers at the limits of floating point."""
    for i, (token, word) in enumerate(
        {
            "0": "N at or below zero",
            "-5": "N at or below zero",
            "-0": "N at or below zero",
            "inf": "infinite N",
            "nan": "without N",
            "1e400": "infinite N",
            "-1e400": "infinite N",
            "1" + "0" * 400: "infinite N",
            "1e-400": "N at or below zero",
        }.items()
    ):
        rows = grid(rng)
        yield _text(f"N extreme {i}", table(cell(spelled(rows), 2, N, token)), reads(without(rows, 2), word))
    for i, token in enumerate(("9007199254740993", "123456789012345678901234567890", "18446744073709551616", "1e15")):
        rows = grid(rng)
        far = (*rows[:11], (float(token), *rows[11][1:]))
        yield _text(f"N huge {i}", table(cell(spelled(rows), 11, N, token)), reads(far))
    rows = grid(rng)
    text = table(cell(spelled(rows), 11, N, "1e308"))
    yield _text("N whose compute is infinite", text, reads(rows[:11], "infinite C"))
    for i, token in enumerate(("5e-324", "1e-300")):
        rows = grid(rng)
        far = (*rows[:11], (float(token), *rows[11][1:]))
        yield _text(f"N at the end {i}", table(cell(spelled(rows), 11, N, token)), reads(far))
    for i, token in enumerate(("0", "-3.1", "-0.0")):
        rows = grid(rng)
        far = (*rows[:11], (*rows[11][:2], float(token)))
        yield _text(f"loss not positive {i}", table(cell(spelled(rows), 11, LOSS, token)), reads(far, unfit="log"))
    for i, token in enumerate(("1e300", "1e-300")):
        rows = grid(rng)
        far = (*rows[:11], (*rows[11][:2], float(token)))
        yield _text(f"loss at the end {i}", table(cell(spelled(rows), 11, LOSS, token)), reads(far))


def _kinds(rng: np.random.Generator) -> Cases:
    """Yield files with columns that are not numbers, and with units in the header."""
    rows = grid(rng)
    cells = spelled(rows)
    kinds: dict[str, Callable[[int], str]] = {
        "dates": lambda i: f"2024-01-{i + 1:02d}",
        "times": lambda i: f"2024-01-01T10:00:{i:02d}Z",
        "hours": lambda i: f"10:00:{i:02d}",
        "american dates": lambda i: f"1/{i + 1}/2024",
        "booleans": lambda i: str(i % 2 == 0),
        "yes and no": lambda i: "yes" if i % 2 else "no",
        "words": lambda i: "low" if i % 2 else "high",
    }
    for name, spell in kinds.items():
        for place in (N, LOSS):
            changed = [[*line[:place], spell(i), *line[place + 1 :]] for i, line in enumerate(cells)]
            yield _text(f"{HEADER[place]} of {name}", table(changed), refuses(HEADER[place]))
    for i, word in enumerate(("", "nan", "NA")):
        empty = table([[*line[:LOSS], word] for line in cells])
        yield _text(f"loss without numbers {i}", empty, reads((), "12 rows without a loss", unfit="loss"))

    def of(header: str, spell: Spell) -> str:
        return table(_sizes(rows, spell), ("run", header, "D", "loss"))

    for header, power in {"params (M)": 6, "N_millions": 6, "model size [B]": 9}.items():
        text = of(header, lambda n, unit=10.0**power: f"{n / unit:.10g}")  # type: ignore[misc]
        yield _text(f"N under {header}", text, asks("--convert", ("--convert", header), rows))
    text = of("log10_N", lambda n: repr(math.log10(n)))
    # N is computed from a logarithm, so a rounding error is accepted.
    near = Expected(rows, asks="--convert", answers=("--convert", "log10_N"), digits=12)
    yield _text("N under log10_N", text, near)
    for header in ("loss (nats)", "val_loss", "Loss", "eval/loss", "test loss", "validation-loss"):
        safe = header.replace("/", " of ")
        yield _text(f"loss under {safe}", table(cells, ("run", "N", "D", header)), reads(rows))
