"""Section "Known names" of docs/tables.md, made from the constants by which Isoplan reads the columns of a table.

``python -m benchmarks.known_names`` writes the section. ``tests/test_known_names.py`` compares it with the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.report import table
from isoplan.engine.hardware import DEVICES
from isoplan.engine.mixtures import OUT
from isoplan.engine.schema import Role
from isoplan.engine.store.columns import categories, derive, guess, names
from isoplan.engine.store.columns.column import OPEN, Column, read_conversion
from isoplan.engine.store.columns.named_formulas import NAMED
from isoplan.engine.store.columns.unit_names import named_unit
from isoplan.engine.store.tables import runs

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
MARKS = ("<!-- known names -->\n", "<!-- /known names -->\n")
HEAD = """## Known names, units and rules

`isoplan columns TABLE` prints, for each column of a table, its role and the reason. This section lists all names and
rules. `python -m benchmarks.known_names` writes it from the code.

Isoplan compares names in lower case, with one underscore between words: `Model Size`, `modelSize` and `model-size` are
equal. It first removes the prefixes of experiment trackers, each followed by `.`, `/` or `_`: {prefixes}.
The columns that are named exactly `N`, `D`, `U` and `C` always have these roles.
"""
UNITS = """### Units in names

A unit is part of a name if it stands alone between underscores, spaces or brackets: `tokens_in_billions`, `Params (M)`.
Isoplan proposes the conversion and waits for your agreement.
"""
EXAMPLES = (
    *("Params (K)", "Params (M)", "Tokens (B)", "tokens_t", "params_mil", "params_bn", "N_in_thousands"),
    *("tokens_in_millions", "tokens_in_billions", "tokens_trillion", "N_1e6", "D_x10_9", "flops_1e18"),
    *("compute_gigaflop", "compute_teraflop", "petaflops", "exaflop", "train_zflops", "yottaflop", "compute_pf_days"),
    *("PF-days", "gpu_hours", "tpu_h", "h100_hours", "A100-hrs", "log10_N", "log2_D", "lnC", "ln_D", "lgN", "log_D"),
    *("val_ppl", "perplexity", "val_bpb", "bits_per_byte", "bits_per_token"),
)
"""Names with each unit that ``named_unit`` recognises."""


def section() -> str:
    """Return the text of the section, between its marks."""
    prefixes = _listed(names.PREFIXES)
    parts = [HEAD.format(prefixes=prefixes), _roles(), _words(), UNITS, _units(), _rows(), _formulas()]
    return MARKS[0] + "\n".join(part.rstrip("\n") + "\n" for part in parts) + MARKS[1]


def _roles() -> str:
    """Return a table of the known names and the words of each role, in descending order of their scores."""
    lines = []
    for role, scores in names.NAMES.items():
        equal = [sorted(n for n in scores if scores[n] == score) for score in sorted({*scores.values()}, reverse=True)]
        telling = names.ROLE_WORDS.get(role, (set(), 0))[0]
        lines.append((str(role), "; ".join(map(_listed, equal)), _listed(sorted(telling)) or "-"))
    text = (
        "If several columns fit a role, Isoplan uses the column whose name stands before an earlier semicolon. Between "
        "names of equal\nrank, it uses the column that is first in the table."
    )
    head = ("role", "known names", "words in longer names")
    return "\n".join(["### Names of roles", "", text, "", *table(head, lines)])


def _words() -> str:
    """Return the rules for words in names, as a table."""
    lines = (
        ("a loss on held-out data, together with a word for a loss", names.HELD_OUT),
        ("not a size, although the name contains a word for a size", names.NOT_A_SIZE),
        ("a metric; larger is better", names.LARGER),
        ("a metric; smaller is better", names.SMALLER),
        ("not a metric", guess.NOT_QUALITY),
        ("a hyperparameter", guess.SETTING_WORDS | guess.SETTING_NAMES),
        ("the name of a run, for tables with several rows of a run", guess.RUN_IDS),
        ("the step of a training curve", guess.STEPS),
        ("the duration of a run in seconds", names.SECONDS),
        ("the duration of a run in hours", names.HOURS),
    )
    head = ("the name denotes", "words")
    rest = "A column such as `R_top`, with no value below 1, is also a metric: a background rejection."
    return "\n".join(
        ["### Words", "", *table(head, [(what, _listed(sorted(known))) for what, known in lines]), "", rest]
    )


def _units() -> str:
    lines = [_unit(name) for name in EXAMPLES]
    devices = f"Devices for hours: {_listed(device.name for device in DEVICES)}."
    head = ("such as", "conversion", "a column of", "roles")
    return "\n".join([*table(head, lines), "", devices])


def _unit(name: str) -> tuple[str, str, str, str]:
    found = named_unit(Column(name, "number", minimum=8.0, maximum=12.0))
    assert found is not None, name
    if found.how in OPEN:
        what, hows = OPEN[found.how]
        return f"`{name}`", f"your choice, such as {_listed(hows)}", what, _of_roles(found.roles)
    about = read_conversion(found.how, name).about.removeprefix("in ").removeprefix("as ")
    return f"`{name}`", f"`{found.how}`", about, _of_roles(found.roles)


def _of_roles(roles: Iterable[Role]) -> str:
    return ", ".join(str(role) for role in roles)


def _rows() -> str:
    """Return the rules for values that exclude rows or divide a table."""
    lines = (
        ("state of a run that did not finish (left out)", runs.UNFINISHED),
        ("state of a run that diverged (left out)", runs.DIVERGED),
        ("state of a finished run", filter(None, runs.FINISHED)),
        ("flag that marks runs to exclude, as a word of the name", OUT),
        ("flag that marks runs to exclude, as the whole name", categories.OUT_NAMES),
        ("flag that marks runs to keep, as a word of the name", categories.KEEP),
        ("flag that marks runs to keep, as the whole name", categories.KEEP_NAMES),
        ("column of remarks, such as `outlier`", categories.REMARKS),
        ("column of data sets", categories.DATASETS),
        ("value of a split: training part", categories.TRAINED_ON),
        ("value of a split: held-out part", categories.TESTED_ON),
        ("name of a summary row at the end of a table", categories.SUMMARIES),
    )
    head = ("meaning", "names or values")
    return "\n".join(["### States, flags and parts of a table", "",
                      *table(head, [(what, _listed(sorted(known))) for what, known in lines])])  # fmt: skip


def _formulas() -> str:
    """Return the names of the columns from which Isoplan proposes a formula of D."""
    lines = (
        ("steps", derive.TOTALS),
        ("batch size", derive.BATCHES),
        ("sequence length", derive.LENGTHS),
        ("tokens of one step", derive.TOKENS),
        ("epochs", derive.EPOCHS),
    )
    text = "Isoplan proposes D = steps * batch size (* sequence length), steps * tokens of one step, or epochs * size."
    head = ("factor", "known names")
    named = [(f"`{one.call}`", f"`{one.formula.replace('{', '').replace('}', '')}`", one.about) for one in NAMED]
    example = (
        '`--derive "N = transformer(d_model, n_layers, 50257)"` names a formula. An input is a column or a number.'
    )
    factors = table(head, [(what, _listed(known)) for what, known in lines])
    calls = table(("name", "formula", "result"), named)
    return "\n".join(["### Factors of D", "", text, "", *factors, "", "### Named formulas", "", example, "", *calls])


def _listed(known: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(known))


def written() -> str:
    """Return the section as the page contains it; empty if the page does not contain it."""
    found = re.search(f"{re.escape(MARKS[0])}.*{re.escape(MARKS[1])}", PAGE.read_text("utf-8"), re.DOTALL)
    return found[0] if found else ""


def main() -> None:
    """Write the section into the page; append it if the page does not contain it."""
    page = PAGE.read_text("utf-8")
    old, new = written(), section()
    PAGE.write_text(page.replace(old, new) if old else f"{page}\n{new}", encoding="utf-8")


if __name__ == "__main__":
    main()
