"""Tests of formulas written as LaTeX."""

from __future__ import annotations

import pytest

from isoplan.engine.formula import as_latex, parse_formula, symbol


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("E + A/N^alpha + B/D^beta", r"E + \frac{A}{N^{\alpha}} + \frac{B}{D^{\beta}}"),
        (
            "((N_c/N)^(alpha_N/alpha_D) + D_c/D)^alpha_D",
            r"\left(\left(\frac{N_{c}}{N}\right)^{\frac{\alpha_{N}}{\alpha_{D}}} + \frac{D_{c}}{D}\right)^{\alpha_{D}}",
        ),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("(a + b)*c", r"\left(a + b\right) \, c"),
        ("a*2", r"a \cdot 2"),
        ("(-a)^2 - a^-2", r"\left(-a\right)^{2} - a^{-2}"),
        ("3e-7*lr", r"3 \cdot 10^{-7} \, \mathrm{lr}"),
        ("1e20*a", r"10^{20} \, a"),
        ("sqrt(abs(min(a, b)))", r"\sqrt{\left|\min\left(a, b\right)\right|}"),
        ('"batch size"^2', r"\mathrm{batch\ size}^{2}"),
    ],
)
def test_formulas_read_as_on_paper(text: str, latex: str) -> None:
    assert as_latex(parse_formula(text).tree) == latex


def test_names_cannot_leave_their_letters() -> None:
    assert symbol("R_D") == "R_{D}"
    assert symbol("c0") == "c_{0}"
    assert symbol(r"\href{x}$<b>") == r"\mathrm{\backslash href\{x\}\$\lt b\gt }"


def test_a_name_with_an_icon_in_it_is_no_icon() -> None:
    assert symbol("a :material/home:") == r"\mathrm{a\ :material{/}home:}"
