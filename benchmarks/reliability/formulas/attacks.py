"""Typed texts with their expected outcome: power towers, nesting, names, Unicode, long texts, and random texts.

``wanted`` is the mathematical value of the text. It is REFUSED if the text has no value, and EITHER if both a value and
a refusal are right.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.reliability.formulas.places import AT, THETA

REFUSED, EITHER = "refused", "either"
SEED = 22
FORMULAS = ("formula of a law", "formula of a role", "formula of compute")
N, D, n, log = AT["N"], AT["D"], AT["n"], AT["log"]


@dataclass(frozen=True)
class Attack:
    """A ``text`` that is typed at ``place``, and the ``wanted`` outcome."""

    place: str
    text: str
    wanted: float | str


def attacks() -> list[Attack]:
    """Return all attacks: the listed attacks and random attacks."""
    return [*_formulas(), *_of_laws(), *_numbers(), *_commands(), *_random()]


TOWERS: tuple[tuple[str, float | str], ...] = (
    ("N*9^9^9^9^9", REFUSED),
    ("N*10^10^10", REFUSED),
    ("N*2^2^2^2", N * 65536),
    ("N*2^2^2^2^2", REFUSED),
    ("N" + "^D" * 29, REFUSED),
    ("N" + "**D" * 200, REFUSED),
    ("N*" + "(" * 20 + "9" + "^9)" * 20, REFUSED),
    ("N^(1e308*10)", REFUSED),
    ("N^-1e9", REFUSED),
    ("N*(0-8)^(1/3)", REFUSED),
    ("exp(exp(exp(exp(N))))", REFUSED),
    ("N^100^1^1^1", REFUSED),
    ("N*1^1^1^1^1^1", N),
    ("((((N^99)^99)^99)^99)^99", REFUSED),
    ("N/(D-D)", REFUSED),
    ("N*0*(1/0)", REFUSED),
    ("N*min(9^9^9, 1)", REFUSED),
    ("N*1e-400", 0.0),
)
"""Powers of powers, and other texts whose numbers can be too large."""
NESTS: tuple[tuple[str, float | str], ...] = (
    ("(" * 1000 + "N", REFUSED),
    ("(" * 990 + "N" + ")" * 990, REFUSED),
    ("(" * 29 + "N" + ")" * 29, N),
    ("-" * 1990 + "N", REFUSED),
    ("N" + "*-" * 900 + "D", REFUSED),
    ("N*" + "-" * 28 + "D", N * D),
    ("+" * 1990 + "N", REFUSED),
    ("log(" * 300 + "N", REFUSED),
    ("abs(" * 28 + "N" + ")" * 28, N),
    ("max(N," * 28 + "D" + ")" * 28, max(N, D)),
    ("max(" * 300 + "N" + ",D)" * 300, REFUSED),
    ("N^" * 990 + "D", REFUSED),
    ("1/(1+" * 28 + "N" + ")" * 28, EITHER),
    (")" * 1000, REFUSED),
    (",".join(["N"] * 900), REFUSED),
    ("max(" + ",".join(["N"] * 900) + ")", N),
)
NAMES: tuple[tuple[str, float | str], ...] = (
    ("N*__import__", REFUSED),
    ("__import__('os').system('id')", REFUSED),
    ("N.__class__.__mro__", REFUSED),
    ("N[0]", REFUSED),
    ("lambda N: N", REFUSED),
    ("[N for N in N]", REFUSED),
    ("eval(N)", REFUSED),
    ("open(N)", REFUSED),
    ("exec(N)*N", REFUSED),
    ("N if N else D", REFUSED),
    ("N; DROP TABLE runs", REFUSED),
    ('"N"; "D"', REFUSED),
    ('N*"\'; DROP TABLE runs; --"', REFUSED),
    ('N*"' + "x" * 1900 + '"', REFUSED),
    ('"N', REFUSED),
    ('""*N', REFUSED),
    ('"batch size"*N', 64.0 * N),
    ('"<script>alert(1)</script>"*N', REFUSED),
    ('"%s%n{0}{N!r}"*N', REFUSED),
    ("N*log", N * log),
    ("log(N)*log", math.log(N) * log),
    ("N(D)", REFUSED),
    ("N*NaN", REFUSED),
    ("N*inf", REFUSED),
    ("N*1_000", REFUSED),
    ("N*0x10", REFUSED),
    ("N*1j", REFUSED),
    ("N\\D", REFUSED),
    ("N//D", REFUSED),
    ("N%D", REFUSED),
    ("N==D", REFUSED),
    ("N*", REFUSED),
    ("", REFUSED),
    ("   ", REFUSED),
    ("#", REFUSED),
)
"""Names that are not columns, such as names of Python, SQL and HTML, and texts that are not names."""
UNICODES: tuple[tuple[str, float | str], ...] = (
    ("N*\ud800", REFUSED),
    ('"\udc80"*N', REFUSED),
    ("N*\x00D", REFUSED),
    ('"N\x00"*D', REFUSED),
    ("N\u200b*D", REFUSED),
    ("N\u202e*D", REFUSED),
    ("\ufeffN*D", REFUSED),
    ("N*٣", REFUSED),
    ("N*３", REFUSED),
    ("N*²", REFUSED),
    ("N²", REFUSED),
    ("N×D", REFUSED),
    ("N−D", REFUSED),
    ("Ν*D", REFUSED),
    ("𝐍*D", REFUSED),
    ("N\u00a0*\u00a0D", EITHER),
    ("N\u2003*\u3000D", EITHER),
    ("N\n*\r\n\tD", N * D),
    ('"e\u0301"*N', REFUSED),
    ("🚀*N", REFUSED),
    ('"' + "\u0300" * 900 + '"*N', REFUSED),
)
"""Lone surrogates, control characters, digits of other scripts, and letters that look like others."""
SIZES: tuple[tuple[str, float | str], ...] = (
    ("N+" * 999 + "N", 1000 * N),
    ("N*" * 999 + "1", REFUSED),
    ("N/" * 999 + "N", EITHER),
    ("+".join(["exp(n)"] * 285), 285 * math.exp(n)),
    ("*".join(["sqrt(n)"] * 220), EITHER),
    ("1/(" * 27 + "+".join(["exp(n)"] * 260) + ")" * 27, EITHER),
    ("(" * 28 + "+".join(["exp(n)"] * 260) + "+n)" * 28, 260 * math.exp(n) + 28 * n),
    ("exp(n)+(" * 28 + "+".join(["log(N)"] * 200) + ")" * 28, 28 * math.exp(n) + 200 * math.log(N)),
    ("+".join(f"N/(D+{i})" for i in range(180)), sum(N / (D + i) for i in range(180))),
    ("+".join(["N^n^n"] * 300), EITHER),
    ("N*" + "9" * 1990, REFUSED),
    ("N*0." + "0" * 1900 + "1", EITHER),
    ("N*1" + "0" * 300, N * 1e300),
    ("N*1e308*1e308*1e-308*1e-308", REFUSED),
    ("N*1e-308*1e-308*1e308*1e308", EITHER),
    ("N+D" * 100_000, REFUSED),
    (" " * 3_000_000 + "N", EITHER),
    ("N" * 10_000_000, REFUSED),
    ("N" + " " * 1990 + "*D", N * D),
    ("a" * 1999 + "*N", REFUSED),
)
"""Long sums, products and fractions, long numbers, and texts of several megabytes."""


def _formulas() -> Iterator[Attack]:
    """Yield the texts of all lists, each as the formula of a law, of a role, and of compute."""
    for text, wanted in (*TOWERS, *NESTS, *NAMES, *UNICODES, *SIZES):
        for place in FORMULAS:
            yield Attack(place, text, wanted) if place != FORMULAS[0] else _of_law(text, wanted)


def _of_law(text: str, wanted: float | str) -> Attack:
    """Return the text as a law, with an added parameter q; names that are not columns become parameters too."""
    whole = f"q+{text}" if len(text) < 1000 else text
    if text in ("N*__import__", "N*NaN", "N*inf"):  # the names __import__, NaN and inf become parameters
        wanted = N * THETA
    if isinstance(wanted, float):
        return Attack(FORMULAS[0], whole, wanted + THETA if whole != text else EITHER)
    return Attack(FORMULAS[0], whole, wanted)


def _of_laws() -> Iterator[Attack]:
    letters = "abcdefghijkl"
    for text, wanted in (
        ("+".join(letters) + "+m+N", REFUSED),
        ("*".join(letters) + "*N", N * THETA**12),
        ("+".join(f"{a}/N^{b}" for a in letters[:6] for b in letters[6:]), EITHER),
        ("+".join(f"exp({a}*{b}*N)" for a in letters for b in letters if a < b), EITHER),
        ("^".join([*letters, "N"]), EITHER),
        ("exp(" * 10 + "a*N" + ")" * 10, EITHER),
        ("max(" + ",".join(f"{a}*N^{b}" for a in letters for b in letters) + ")", EITHER),
        ("(" + "+".join(letters) + ")^2*(" + "*".join(letters) + "*N)^3", EITHER),
        ("E + A/N^alpha" + " + B/D^beta" * 100, EITHER),
        ("E", REFUSED),
        ("N", REFUSED),
        ("E+A*loss", EITHER),
        ("E*0*N", EITHER),
        ("E^E^E^E^E^E^E^N", EITHER),
        ("\\alpha*N", REFUSED),
        ("$E$*N", REFUSED),
    ):
        yield Attack(FORMULAS[0], text, wanted)


WRITTEN: tuple[tuple[str, str, float | str], ...] = (
    ("budget", "1e400 H100 hours", REFUSED),
    ("budget", "1e300 H100 years", REFUSED),
    ("budget", "1e999", REFUSED),
    ("budget", "10^999", REFUSED),
    ("budget", "10^9999999999", REFUSED),
    ("budget", "10^10^10", REFUSED),
    ("budget", "10**10**10", REFUSED),
    ("budget", "9" * 99, float("9" * 99)),
    ("budget", "9" * 100_000_000, REFUSED),
    ("budget", "1e-400", 0.0),
    ("budget", "1e300 RFLOP", REFUSED),
    ("budget", "3 ZFLOP/s", REFUSED),
    ("budget", "3 ZFLOP/s" * 10, REFUSED),
    ("budget", "1 " * 50_000_000, REFUSED),
    ("budget", "5 PFLOP/s-days", 5e15 * 86400),
    ("budget", "٣ ZFLOP", 3e21),
    ("budget", "３e２０", 3e20),
    ("budget", "3 ＺFLOP", REFUSED),
    ("budget", "³⁴", REFUSED),
    ("budget", "10²⁰", 1e20),
    ("budget", "10²⁰⁰⁰", REFUSED),
    ("budget", "10^-²⁰", EITHER),
    ("budget", "\ud8003", REFUSED),
    ("budget", "3\udcff", REFUSED),
    ("budget", "3\x00", REFUSED),
    ("budget", "1 H100 hours at 101%", REFUSED),
    ("budget", "1 H100 hours at 1e5%", REFUSED),
    ("budget", "1 h100 h" + "a" * 90, REFUSED),
    ("budget", "200 <script> hours", REFUSED),
    ("budget", "1 " + "x-" * 48, REFUSED),
    ("budget", "1 k" + " a" * 48, REFUSED),
    ("budget", "nan", REFUSED),
    ("budget", "inf", REFUSED),
    ("budget", "-inf FLOP", REFUSED),
    ("budget", "1e", REFUSED),
    ("budget", "½", REFUSED),
    ("budget", "一百", REFUSED),
    ("budget", "Ⅻ", REFUSED),
    ("budget", "1\u202e02", REFUSED),
    ("budget", "1,000", REFUSED),
    ("number", "1,0,0,0", REFUSED),
    ("number", "1" + ",000" * 24, 1e72),
    ("number", "1" + ",000" * 1_000_000, REFUSED),
    ("number", "0x10", REFUSED),
    ("number", "1__000", REFUSED),
    ("number", "--1", REFUSED),
    ("number", "1e1e1", REFUSED),
    ("number", "10^(9)", 1e9),
    ("number", "10^((9))", REFUSED),
    ("number", "2^10", REFUSED),
    ("number", "1e308 k", REFUSED),
    ("number", "__import__('os')", REFUSED),
    ("number", " " * 99 + "1", EITHER),
    ("number", " " * 100_000_000, REFUSED),
    ("number", "+" * 100_000_000, REFUSED),
    ("share", "1e400%", REFUSED),
    ("share", "4e1 %", 0.4),
    ("share", "%" * 10_000_000, REFUSED),
    ("share", "٤٠%", 0.4),
    ("hours", "1e400 h", REFUSED),
    ("hours", "1e308 years", REFUSED),
    ("hours", "24 " + "h" * 10_000_000, REFUSED),
    ("hours", " " * 3_000_000 + "24", REFUSED),
    ("hours", "24" + " " * 3_000_000 + "h", REFUSED),
    ("hours", "24 h" + "/ h" * 30, REFUSED),
    ("hours", "24 Ｈ", REFUSED),
    ("money", "€" * 10_000_000, REFUSED),
    ("money", " " * 3_000_000 + "€ 5", EITHER),
    ("money", "\u2003" * 3_000_000, REFUSED),
    ("money", "€ ٥", 5.0),
    ("money", "5 $", REFUSED),
    ("money", "€1e400", REFUSED),
    ("money", "5 EUR per " * 1_000_000, REFUSED),
    ("money", "5 EUR \udc80", REFUSED),
    ("memory", "80 GB" * 20, REFUSED),
    ("memory", "1e300 PB", EITHER),
    ("memory", "1e308 PB", REFUSED),
    ("samples", "1e400 jets", REFUSED),
    ("samples", "2 M jets", 2e6),
    ("samples", "2 MM jets", REFUSED),
    ("samples", "2 M M jets", REFUSED),
    ("range of a filter", "10^10^10", REFUSED),
    ("range of a filter", "1e999", REFUSED),
    ("range of a filter", "1e308", 1e308),
    ("range of a filter", "1234567890123", 1234567890123.0),
    ("range of a filter", "0.12345678901234567", 0.12345678901234567),
    ("range of a filter", "1e-320", 1e-320),
    ("range of a filter", "1) OR (1=1", REFUSED),
    ("range of a filter", "1; DROP TABLE runs", REFUSED),
    ("range of a filter", "(SELECT 1)", REFUSED),
    ("range of a filter", "-5", -5.0),
    ("range of a filter", "1 -- x", REFUSED),
    ("range of a filter", "1" * 10_000_000, REFUSED),
    ("values of a grid", "8..512 x 7", 1016.0),
    ("values of a grid", "1..2 x 999999999", REFUSED),
    ("values of a grid", "1..2 x 9999999999999", REFUSED),
    ("values of a grid", "1..1e400 x 3", REFUSED),
    ("values of a grid", "1e-300..1e300 x 20000", EITHER),
    ("values of a grid", "." * 2000, REFUSED),
    ("values of a grid", "1" + ".." * 990 + "2", REFUSED),
    ("values of a grid", "1..2 x" + " " * 1990, REFUSED),
    ("values of a grid", "1..2" + " x" * 900, REFUSED),
    ("values of a grid", "1" + "." * 20_000 + " x 3", REFUSED),
    ("values of a grid", "1," * 1_000_000, EITHER),
    ("values of a grid", "1 " + "\u00a0" * 20_000, 1.0),
    ("values of a grid", "9" * 5000, REFUSED),
    ("values of a grid", "\ud800", REFUSED),
    ("texts of a grid", "a" * 200_000, EITHER),
    ("texts of a grid", "a\nb", EITHER),
    ("texts of a grid", "a\rb", EITHER),
    ("texts of a grid", '"a', EITHER),
    ("texts of a grid", "a\x00b", EITHER),
    ("texts of a grid", "\ud800", EITHER),
)


def _numbers() -> Iterator[Attack]:
    yield from (Attack(*written) for written in WRITTEN)


def _commands() -> Iterator[Attack]:
    """Yield texts for whole commands. In a whole command, the fit itself can also be slow."""
    letters = "abcdefghijkl"
    for text, wanted in (
        ("E+A/N^alpha", 0.0),
        ("E+A*9^9^9*N", REFUSED),
        ("(" * 600 + "N", REFUSED),
        ("E" + "^E" * 20 + "*N", EITHER),
        ("E + A/N^alpha" + " + B/D^beta" * 170, EITHER),
        ("+".join(f"{a}*log({b}*N+D)" for a in letters[:6] for b in letters[6:]), EITHER),
        ("+".join(f"exp({a}*{b}*log(N))" for a in letters for b in letters if a < b), EITHER),
        ("max(" + ",".join(f"{a}*N^{b}" for a in letters for b in letters) + ")", EITHER),
        ("^".join([*letters, "N"]), EITHER),
        ("E*\udcff+N", REFUSED),
        ('E*"\udcff"', REFUSED),
        ("E*N*" + "9" * 100_000, REFUSED),
        ("\x1b[31mN", REFUSED),
    ):
        yield Attack("isoplan fit --formula", text, wanted)
    for text, wanted in (
        ("6*N*D", 0.0),
        ("6*N*D^9^9", REFUSED),
        ("N" + "^D" * 25, REFUSED),
        ("(" * 600 + "N", REFUSED),
        ("6*N*\udcffD", REFUSED),
        ("zetaND:zeta=1e400", REFUSED),
        ("zetaND:zeta=10^10^10", REFUSED),
        ("powers:zeta=6,a=1e300,b=1", REFUSED),
        ("step:s=1e400%,h=1,B=1", REFUSED),
        ("zetaND:" + "zeta=1," * 10_000, REFUSED),
        ("6*N*D*0", REFUSED),
        ("-6*N*D", REFUSED),
    ):
        yield Attack("isoplan fit --rule", text, wanted)
    for text, wanted in (
        ("D/2", 0.0),
        ("D/0", REFUSED),
        ("D" * 100_000, REFUSED),
        ("D*\udcff", REFUSED),
        ("log(log(log(log(log(log(D))))))", REFUSED),
        ("9^9^9*D", REFUSED),
    ):
        yield Attack("isoplan fit --derive", text, wanted)


def _random() -> Iterator[Attack]:
    """Yield random formulas, with values from Python, and random texts from characters of formulas and numbers."""
    choice = random.Random(SEED)
    for _ in range(40):
        text, value = _tree(choice, 6)
        yield Attack("formula of a role", f"N*0 + {text}", value)
    signs = [*"NDND()()+-*/^,09", "**", "log(", "exp(", "min(", "1e9", "1e308", ".5", '"', " ", "é", "\ud800", "²"]
    for i in range(40):
        yield Attack(FORMULAS[i % 3], "".join(choice.choices(signs, k=choice.randint(2, 60))), EITHER)
    digits = [*"0123456789.,'_ eE^×x*%-+kMB", "10^", "²⁰", "٣", "\u00a0", " ZFLOP", " H100 hours", "€", "\ud800", ".."]
    places = ("number", "budget", "money", "share", "hours", "values of a grid", "range of a filter")
    for i in range(42):
        yield Attack(places[i % 7], "".join(choice.choices(digits, k=choice.randint(1, 30))), EITHER)


def _tree(choice: random.Random, depth: int) -> tuple[str, float]:
    """Return a random formula of at most ``depth`` levels, and its value at the first row of the table."""
    if depth == 0 or choice.random() < 0.1:
        name = choice.choice(["N", "D", "n", "number"])
        return (name, AT[name]) if name != "number" else (f"{(x := choice.uniform(0.1, 9)):.6g}", float(f"{x:.6g}"))
    left, a = _tree(choice, depth - 1)
    sign = choice.choice(["+", "-", "*", "/", "sqrt", "max", "negate"])
    if sign == "sqrt":
        return f"sqrt(abs({left}))", math.sqrt(abs(a))
    if sign == "negate":
        return f"-({left})", -a
    right, b = _tree(choice, depth - 1)
    if sign == "max":
        return f"max({left}, {right})", max(a, b)
    if sign == "/":
        return f"({left}) / (1 + abs({right}))", a / (1 + abs(b))
    return f"(({left}) {sign} ({right}))", {"+": a + b, "-": a - b, "*": a * b}[sign]
