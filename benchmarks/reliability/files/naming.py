"""Files with unusual or hostile names of columns and groups."""

from __future__ import annotations

import numpy as np

from benchmarks.reliability.files.case import (
    HEADER,
    Case,
    Cases,
    Expected,
    content,
    grid,
    quoted,
    reads,
    refuses,
    spelled,
    table,
)

KIND = "names"
HOSTILE = (
    *("select", "from", "rid", "c0", "row id", "withdrawn", "column00", "filename", "group by", "NULL", "nan", "true"),
    *(
        "1",
        "1e6",
        "-",
        "*",
        "%",
        "_",
        ".",
        "..",
        "/etc/passwd",
        "C:\\x",
        "$HOME",
        "`id`",
        "$(id)",
        "%s%n",
        "{0}",
        "{{x}}",
    ),
    *(
        "'",
        '"',
        "a\nb",
        "a\r\nb",
        "a\tb",
        "a;b",
        "a,b",
        "a|b",
        "\\",
        "\x07",
        "\x1b[31m",
        "x" * 10_000,
        "é",
        "ﬀ",
        "名",
        "🚀",
    ),
    *("\u202eabc", "a\u0301", "İ", "ß", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "**b**", "[a](b)"),
    *("$x^2$", ":red[a]", ":material/home:", "=cmd|'/C calc'!A0", "@SUM(1)", "+1", "'; DROP TABLE tables; --"),
    *("]", "[", "__index_level_0__", "__proto__", "constructor", "\ufeff", "\u200b", "\xa0", "a" + "\u0300" * 200),
)
"""Possible names of one extra column in the file. With each of them, N, D and loss must be read as usual."""
GROUPS = ("None", "NA", "N/A", "null", "nan", "inf", "true", "", " ", "0", "-", "a,b", "é", "<b>x</b>", "'", '"', "1e5")
FILES = (
    *(
        "two words.csv",
        "it's.csv",
        'say "yes".csv',
        "naïve é 名 🚀.csv",
        "[a-z]*.csv",
        "what?.csv",
        "100%.csv",
        "a#b.csv",
    ),
    *(
        "a&b=c.csv",
        "a;b.csv",
        "a$HOME.csv",
        "`id`.csv",
        "$(id).csv",
        "{x}.csv",
        "~.csv",
        "-x.csv",
        "--json.csv",
        ".csv",
    ),
    *(
        ".hidden.csv",
        "a.b.c.csv",
        "UPPER.CSV",
        "x" * 200 + ".csv",
        "new\nline.csv",
        "tab\there.csv",
        "a\\b.csv",
        "\u202ex.csv",
    ),
    *("<script>.csv", "=x.csv", "CON.csv", "a .csv", " a.csv", "a..csv", "e\u0301.csv"),
)
ENDINGS = {
    "csv": ("runs.tsv", "runs.txt", "runs.db", "runs.CSV"),
    "refused": ("runs.parquet", "runs.xlsx", "runs.duckdb", "runs.pq"),
    "no box": ("runs", "runs.dat", "runs.csv.bak", "runs.log"),
}


def cases(rng: np.random.Generator) -> Cases:
    """Yield all files of this module."""
    yield from _columns(rng)
    yield from _repeated(rng)
    yield from _groups(rng)
    for name in FILES:
        rows = grid(rng)
        yield content(name, KIND, table(spelled(rows)), reads(rows))
    for name in ENDINGS["csv"]:
        rows = grid(rng)
        yield content(name, KIND, table(spelled(rows)), reads(rows))
    for name in ENDINGS["refused"]:
        yield content(name, KIND, table(spelled(grid(rng))), refuses("is not a"))
    for name in ENDINGS["no box"]:
        rows = grid(rng)
        yield content(name, KIND, table(spelled(rows)), Expected(rows, boxed=True))


def _text(name: str, text: str, expected: Expected) -> Case:
    return content(f"{name}.csv", KIND, text, expected)


def _columns(rng: np.random.Generator) -> Cases:
    for i, name in enumerate(HOSTILE):
        rows = grid(rng)
        cells = [[*line, f"{j}.5"] for j, line in enumerate(spelled(rows))]
        yield _text(f"column {i}", quoted(cells, (*HEADER, name)), reads(rows))
    rows = grid(rng)
    header = (HEADER[0], *(f'N "{x}"' for x in HEADER[1:]))
    answers = ("--map", 'N="N ""N""",D="N ""D""",loss="N ""loss"""')
    del answers  # the option --map cannot contain a name with quotation marks
    yield _text("marks in every name", quoted(spelled(rows), header), refuses("N"))
    for count, expected in ((999, reads(rows)), (1000, reads(rows)), (1001, refuses("1,001 columns"))):
        wide = [[*line, *["1"] * (count - 4)] for line in spelled(rows)]
        yield _text(f"{count} columns", table(wide, (*HEADER, *(f"x{i}" for i in range(count - 4)))), expected)
    many = table([], (*HEADER, *(f"x{i}" for i in range(200_000))))
    yield _text("200000 columns", many + "1,1,1,1\n", refuses("columns"))


def _repeated(rng: np.random.Generator) -> Cases:
    """Yield files whose column names are repeated, empty, or equal except for upper and lower case."""
    rows = grid(rng)
    cells = [[*line, "9.5"] for line in spelled(rows)]
    for i, name in enumerate(("loss", "N", "D", "run")):
        # If two columns have the same name, a person would use the first. A note must name the second.
        yield _text(f"name twice {i}", table(cells, (*HEADER, name)), reads(rows, "repeats the name"))
    for i, name in enumerate(("n", "d", "Loss", "LOSS", "l", "c0", "C0")):
        yield _text(f"name in another case {i}", table(cells, (*HEADER, name)), reads(rows))
    yield _text("name empty", table(cells, (*HEADER, "")), reads(rows, "no name"))
    yield _text("name of spaces", table(cells, (*HEADER, "   ")), reads(rows, "no name"))
    yield _text(
        "names empty", table([[*line, "1", "2", "3", "4"] for line in cells], (*HEADER, *[""] * 5)), reads(rows)
    )
    taken = ("loss (2)", "loss")
    yield _text("name that a rename would take", table([[*c, "1"] for c in cells], (*HEADER, *taken)), reads(rows))
    yield _text("all names equal", table(spelled(rows), ("loss",) * 4), refuses("N"))
    yield _text("all names empty", table(spelled(rows), ("",) * 4), refuses("N"))


def _groups(rng: np.random.Generator) -> Cases:
    """Yield files with two groups of runs. The name of one group can be read as a missing value."""
    for i, name in enumerate(GROUPS):
        rows = (*grid(rng), *grid(rng))
        cells = [[*line, name if j < 12 else "other"] for j, line in enumerate(spelled(rows))]
        fields = quoted(cells, (*HEADER, "group"))
        options = ("--group", "group", "--share", "alpha")
        # Both an empty cell and the text "null" mean a missing value.
        labels = ("" if name == "null" else name, "other")
        said = Expected(rows, answers=options, labels=labels)
        yield _text(f"group {i}", fields, said)
