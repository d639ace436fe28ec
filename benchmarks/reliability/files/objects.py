"""JSON files: records, one object per line, nested objects, and program output that is not valid JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks.reliability.files.case import (
    HEADER,
    Case,
    Cases,
    Expected,
    Rows,
    asks,
    content,
    grid,
    reads,
    refuses,
    with_losses,
    without,
)

KIND = "JSON"
Record = dict[str, Any]
KEYS = (
    *("", " ", "a/b", "~", "~0", "~1", "a.b", "$", "$.loss", "[0]", "'", '"', "\\", "\n", "é", "🚀", "select", "n"),
    *("Loss", "0", "*", "\u0000", "x" * 10_000, "/", "//", "-1"),
)
"""Names of a key that is added to each record. N, D and loss must be read as usual."""


def cases(rng: np.random.Generator) -> Cases:
    """Yield all JSON files of this module."""
    yield from _shapes(rng)
    yield from _nested(rng)
    yield from _values(rng)
    yield from _keys(rng)
    yield from _broken(rng)
    yield from _deep(rng)


def _file(name: str, data: str | bytes, expected: Expected) -> Case:
    return content(name if "." in name else f"{name}.jsonl", KIND, data, expected)


def _records(rows: Rows) -> list[Record]:
    return [{"run": f"r{i}", "N": int(n), "D": int(d), "loss": loss} for i, (n, d, loss) in enumerate(rows)]


def _lines(records: list[Record], end: str = "\n") -> str:
    return "".join(json.dumps(r) + end for r in records)


def _shapes(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    records = _records(rows)
    text = _lines(records)
    yield _file("lines.jsonl", text, reads(rows))
    yield _file("lines.ndjson", text, reads(rows))
    yield _file("lines.json", text, reads(rows))
    yield _file("lines.txt", text, reads(rows))
    yield _file("lines of windows", _lines(records, "\r\n"), reads(rows))
    yield _file("lines without the last end", text.rstrip(), reads(rows))
    yield _file("lines with blank lines", _lines(records, "\n\n"), reads(rows))
    yield _file("objects in one line", _lines(records, " "), reads(rows))
    yield _file("objects without space", _lines(records, ""), reads(rows))
    yield _file("array.json", json.dumps(records), reads(rows))
    yield _file("array over lines.json", json.dumps(records, indent=2), reads(rows))
    yield _file("objects over lines.json", "\n".join(json.dumps(r, indent=2) for r in records), reads(rows))
    yield _file("array in a text file.txt", json.dumps(records), reads(rows))
    yield _file("mark of utf-8.json", b"\xef\xbb\xbf" + json.dumps(records).encode(), reads(rows))
    yield _file("utf-16.json", json.dumps(records).encode("utf-16"), reads(rows, "UTF-16"))
    yield _file("latin-1", text.replace("r3", "é").encode("latin-1"), reads(rows, "Latin-1"))
    yield _file("spaces before.json", "  \n\n " + json.dumps(records), reads(rows))
    columns = {key: [r[key] for r in records] for key in HEADER}
    yield _file("columns.json", json.dumps(columns), refuses("N"))
    by_index = {key: {str(i): r[key] for i, r in enumerate(records)} for key in HEADER}
    yield _file("columns of pandas.json", json.dumps(by_index), refuses("N"))
    split = {"columns": HEADER, "data": [[r[k] for k in HEADER] for r in records]}
    yield _file("split of pandas.json", json.dumps(split), refuses("N"))
    yield _file("by name.json", json.dumps({r["run"]: r for r in records}), refuses("N"))
    yield _file("in an object.json", json.dumps({"runs": records}), refuses("N"))
    yield _file("lists.json", json.dumps([HEADER, *([r[k] for k in HEADER] for r in records)]), refuses("JSON objects"))
    for i, data in enumerate(("[]", "{}", "null", "7", '"text"', "[1, 2]", "[[]]", "[null]", "[{}]", "  ", "{}\n{}")):
        yield _file(f"next to nothing {i}.json", data, refuses("json"))
    yield _file("comma separated in json.json", "run,N,D,loss\n", refuses("json"))
    yield _file("json called csv.csv", text, refuses("json called csv"))
    one = reads(rows[:1], unfit="1 run")
    yield _file("one object.json", json.dumps(records[0]), one)


def _nested(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    records = _records(rows)
    for name, extra in {
        "object": {"a": 1, "b": {"c": [1, 2]}},
        "list": [1, 2, 3],
        "objects in a list": [{"loss": 1}, {"loss": 2}],
        "empty object": {},
        "null": None,
        "text of json": '{"loss": 1}',
    }.items():
        yield _file(f"beside a nested {name}", _lines([{**r, "extra": extra} for r in records]), reads(rows))
    tracked = [{"config": {"N": r["N"], "D": r["D"]}, "summary": {"loss": r["loss"]}} for r in records]
    yield _file("tracked runs", _lines(tracked), reads(rows, "each key"))
    yield _file("N in an object", _lines([{**r, "N": {"total": r["N"]}} for r in records]), refuses("N"))
    yield _file("loss in a list", _lines([{**r, "loss": [r["loss"]]} for r in records]), refuses("loss"))
    mixed = [{**r, "loss": [1]} if i == 7 else r for i, r in enumerate(records)]
    yield _file("one loss in a list", _lines(mixed), refuses("loss"))


def _values(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    records = _records(rows)
    for i, token in enumerate(("NaN", "nan", "-NaN", '"NaN"', '"nan"', "null", '""', '"NA"')):
        lines = _lines(records).replace(f"{rows[4][2]}", token)
        yield _file(f"loss missing {i}", lines, reads(without(rows, 4), "1 row without a loss"))
    for i, token in enumerate(("Infinity", "-Infinity", '"Infinity"', '"inf"', "1e400")):
        lines = _lines(records).replace(f"{rows[4][2]}", token)
        yield _file(f"loss infinite {i}", lines, reads(without(rows, 4), "infinite loss"))
    for i, token in enumerate(('"diverged"', "true", '"-"', "{}", '"3_5"', '"0x1"', '"3,1"')):
        lines = _lines(records).replace(f"{rows[4][2]}", token)
        yield _file(f"loss no number {i}", lines, refuses("loss"))
    text = [{key: str(value) for key, value in r.items()} for r in records]
    yield _file("numbers as text", _lines(text), reads(rows))
    suffixed = [{**r, "N": f"{r['N'] / 1e6:.10g}M"} for r in records]
    yield _file("numbers with suffixes", _lines(suffixed), asks("--convert N", ("--convert", "N"), rows))
    for i, token in enumerate(
        ("1" + "0" * 40, "9007199254740993", "18446744073709551616", "1E+12", "1.0e12", "-0.0e0")
    ):
        number = float(token)
        far = (*rows[:11], (number, *rows[11][1:])) if number > 0 else rows[:11]
        lines = _lines(records).replace(
            f'"N": {records[11]["N"]}, "D": {records[11]["D"]}', f'"N": {token}, "D": {records[11]["D"]}'
        )
        yield _file(f"N huge {i}", lines, reads(far))
    lines = _lines(records).replace(f"{rows[4][2]}", "3." + "1" * 5000)
    yield _file(
        "loss of 5000 digits",
        lines,
        reads(with_losses(rows, [*(r[2] for r in rows[:4]), 3 + 1 / 9, *(r[2] for r in rows[5:])])),
    )
    missing = [{k: v for k, v in r.items() if not (i == 3 and k == "loss")} for i, r in enumerate(records)]
    yield _file("key left out", _lines(missing), reads(without(rows, 3), "1 row without a loss"))
    late = [r if i else {"run": "r0"} for i, r in enumerate(records)]
    yield _file("keys from the second line", _lines(late), reads(rows[1:], "1 row"))
    shuffled = [{key: r[key] for key in rng.permutation(HEADER).tolist()} for r in records]
    yield _file("keys in any order", _lines(shuffled), reads(rows))
    many = _lines([*records] * 2000 + [{"run": "x", "N": "late", "D": 1, "loss": 1}])
    yield _file("text far down", many, refuses("'late'"))


def _keys(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    records = _records(rows)
    for i, key in enumerate(KEYS):
        yield _file(f"key {i}", _lines([{**r, key: 1.5} for r in records]), reads(rows))
    # If a key occurs twice, most parsers keep the last value, and some keep the first. A person cannot know which value
    # is correct.
    doubled = "".join(json.dumps(r)[:-1] + f', "loss": {9 + i / 16}}}\n' for i, r in enumerate(records))
    yield _file("key twice", doubled, refuses("loss"))
    once = _lines(records).replace(f'"loss": {rows[6][2]}', f'"loss": 9.5, "loss": {rows[6][2]}')
    yield _file("key twice in one line", once, refuses("loss"))
    escaped = _lines(records).replace('"loss"', '"lo\\u0073s"')
    yield _file("key with escapes", escaped, reads(rows))
    surrogate = _lines(records).replace('"r3"', '"\\ud800"')
    yield _file("lone surrogate", surrogate, refuses("line 5"))
    zero = _lines(records).replace('"r3"', '"a\\u0000b"')
    yield _file("escaped zero", zero, reads(rows))
    for count, expected in ((1000, reads(rows)), (1001, refuses("1,001 columns"))):
        wide = [{**r, **{f"x{i}": 1 for i in range(count - 4)}} for r in records]
        yield _file(f"{count} keys", _lines(wide), expected)
    each = [{**r, **{f"x{j}_{i}": 1 for i in range(1000)}} for j, r in enumerate(records)]
    yield _file("other keys in each line", _lines(each), refuses("columns"))


def _broken(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    records = _records(rows)
    text, array = _lines(records), json.dumps(records)
    for i, share in enumerate(rng.uniform(0.1, 0.95, 4)):
        cut = array[: int(share * len(array))]
        yield _file(f"array cut {i}.json", cut, refuses("cannot be read"))
    yield _file("line cut", text[:-20], refuses("cannot be read"))
    yield _file("last comma.json", array[:-1] + ",]", refuses("cannot be read"))
    yield _file("comma in an object.json", array.replace("}", ",}"), reads(rows))
    yield _file("comments.json", "// runs of March\n" + array, refuses("cannot be read"))
    yield _file("single marks.json", array.replace('"', "'"), refuses("cannot be read"))
    yield _file("keys without marks.json", array.replace('"loss"', "loss"), refuses("cannot be read"))
    yield _file("text after.json", array + " end", refuses("cannot be read"))
    yield _file("two arrays.json", array + array, refuses("json"))
    yield _file("lines with commas", _lines(records, ",\n"), refuses("cannot be read"))
    yield _file("hexadecimal number.json", array.replace(str(records[0]["N"]), "0xFF"), refuses("cannot be read"))
    yield _file("number with zeros", text.replace('"N": ', '"N": 0'), refuses("cannot be read"))
    yield _file("python.json", str(records), refuses("cannot be read"))
    yield _file("broken utf-8", text.encode().replace(b"r3", b"\xff\xfe"), reads(rows, "Latin-1"))
    yield _file("zero byte", text.replace("r3", "r\0"), refuses("zero bytes"))


def _deep(rng: np.random.Generator) -> Cases:
    rows = grid(rng)
    for depth in (500, 100_000):
        nested = "[" * depth + "]" * depth
        text = _lines(_records(rows)).replace('"r3"', nested)
        # The depth of brackets is not limited. Both outcomes are right: the runs are read, or the line is refused.
        yield _file(f"{depth} brackets", text, Expected(rows, or_refused=True))
        objects = '{"a":' * depth + "1" + "}" * depth
        yield _file(
            f"{depth} objects", _lines(_records(rows)).replace('"r3"', objects), Expected(rows, or_refused=True)
        )
    yield _file("100000 brackets alone.json", "[" * 100_000, refuses("json"))
    yield _file("long text", _lines(_records(rows)).replace('"r3"', json.dumps("x" * 5_000_000)), reads(rows))
    yield _file("text over 16 MB", _lines(_records(rows)).replace('"r3"', json.dumps("x" * 20_000_000)), reads(rows))
