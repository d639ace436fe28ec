"""Corrections for row conditions that people write in the syntax of another program: ``N > 1B``, ``a & b``, ``x ≥ 3``.

The functions only propose a spelling in a sentence. A condition is never changed.
"""

from __future__ import annotations

import re

from isoplan.engine.quantities import as_typed

_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
"""Pattern of text in single quotes and of names in double quotes, which are never corrected."""
_PREFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12, "p": 1e15, "e": 1e18, "z": 1e21}
_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d+(?:\.\d+)?|\.\d+) ?(?P<unit>[kmbgtpez])"
    r"(?:n|illion|rillion|housand|FLOPs?|params|tokens)?(?!\w)",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(?<![\w.])(?P<digits>\d+(?:\.\d+)?) ?%(?= *(?:$|[)&|]|and\b|or\b))", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
_DECIMAL = re.compile(r"(?<![\w.,])(\d+),(\d+)(?![\w,])")
_WORDS = {
    r"&&?": "AND",
    r"\|\|?": "OR",
    r"=>|≥|⩾": ">=",
    r"=<|≤|⩽": "<=",
    r"≠|/=|~=|!==": "<>",
    r"={3}": "=",
    r"\bNone\b": "NULL",
}
"""Pattern of an operator in another syntax -> the SQL to write instead."""
_QUOTES = ((re.compile(r"[‘“]([^‘’“”]*)[’”]"), "'"), (re.compile(r"`([^`]*)`"), '"'))
"""Patterns of text and of names in quotation marks that SQL does not allow, each with the correct quotation mark."""
_NAN = re.compile(r"(?i)\bnan\b(?! *\()")
_WHERE = re.compile(r"(?i)^\s*(?:where|filter|select)\b")


def propose_spelling(condition: str) -> str:
    """Return how to write the parts of ``condition`` that SQL does not allow, such as ``Write 1e9 for 1B.``

    The result has at most three sentences. It is empty if ``condition`` matches no known pattern.
    """
    text = _QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), condition)
    pairs: dict[str, str] = {}
    for found in _NUMBER.finditer(text):
        pairs[found[0]] = as_typed(float(found["digits"]) * _PREFIXES[found["unit"].lower()])
    for found in _PERCENT.finditer(text):
        pairs[found[0]] = as_typed(float(found["digits"]) / 100)
    for found in _THOUSANDS.finditer(text):
        pairs[found[0]] = found[0].replace(",", "")
    lists = re.search(r"(?i)\bin\b", text)
    for found in () if lists else _DECIMAL.finditer(_THOUSANDS.sub("", text)):
        pairs[found[0]] = f"{found[1]}.{found[2]}"
    for pattern, right in _WORDS.items():
        pairs |= dict.fromkeys(re.findall(pattern, text), right)
    for quotes, mark in _QUOTES:
        pairs |= {found[0]: f"{mark}{found[1]}{mark}" for found in quotes.finditer(text)}
    lines = [f"Write {right} for {wrong}." for wrong, right in pairs.items()]
    if _NAN.search(text):
        lines.append("Write isnan(column) for a comparison with nan.")
    if _WHERE.search(text):
        lines.append(f"Leave out {text.split()[0]}.")
    return " ".join(lines[:3])
