"""The complete path in the browser: upload, correct, fit, explore, plan. The terminal gives the same numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.browser.steps import (
    ROLES,
    TARGET_LOSS,
    assert_sound,
    button,
    details,
    enter,
    go,
    pick,
    press,
    select,
    settle,
    unfold,
    upload,
)
from tests.server import Server

CONDITION = "epoch_kept_240 = 1"
TARGET = "2.0"
COMMAND = Path(sys.executable).with_name("isoplan")
SIZES = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
POWER = "10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
NUMBER = re.compile(rf"{POWER}|(?<![\d.])([+-]?\d[\d,]*(?:\.\d+)?)(?: ?([kMBT])\b)?(?: × {POWER})?")


def numbers(text: str) -> list[tuple[float, float]]:
    """Return each number in ``text``, with half a unit of its last digit. For ``9.1 B``: 9.1e9 and 0.05e9."""
    found = []
    for part in NUMBER.finditer(text.replace("\xa0", " ")):
        if part[1]:
            found.append((10.0 ** int(part[1].translate(RAISED)), 0.5 * 10.0 ** int(part[1].translate(RAISED))))
            continue
        digits = part[2].replace(",", "")
        unit = SIZES[part[3] or ""] * 10.0 ** int((part[4] or "0").translate(RAISED))
        places = len(digits.partition(".")[2]) if "." in digits else -(len(digits) - len(digits.rstrip("0")))
        found.append((float(digits) * unit, 0.5 * 10.0**-places * unit))
    return found


def assert_shows(text: str, *values: float) -> None:
    """Check that ``text`` contains exactly the numbers ``values``, rounded to the digits in ``text``."""
    found = numbers(text)
    assert len(found) == len(values), text
    for (number, half), value in zip(found, values, strict=True):
        assert abs(number - value) <= half * 1.001, f"{text!r} does not show {value}"


def cells(page: Page, at: int = 0) -> list[list[str]]:
    """Return the rows of table number ``at`` on the page, each as a list of cells. The first table has the number 0."""
    rows = page.get_by_test_id("stTable").nth(at).locator("tbody tr").all()
    return [[cell.strip() for cell in row.locator("td").all_inner_texts()] for row in rows]


def downloaded(page: Page, name: str) -> dict[str, Any]:
    """Return the JSON that the download button ``name`` saves."""
    with page.expect_download() as waiting:
        button(page, name).click()
    found: dict[str, Any] = json.loads(Path(waiting.value.path()).read_text())
    return found


def terminal(*arguments: str) -> str:
    """Run ``isoplan`` and return its output."""
    ran = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def printed(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fit and the plan of the browser test as the terminal computes them."""
    table = shared / "runs" / "chinchilla_epoch.csv"
    roles = 'N="Model Size",C="Training FLOP",loss=loss'
    options = ("--law", "chinchilla", "--map", roles, "--where", CONDITION, "--bootstrap", "1000", "--seed", "0")
    fit = tmp_path_factory.mktemp("terminal") / "fit.json"
    fit.write_text(terminal("fit", str(table), *options, "--json"))
    plan = terminal("plan", str(fit), "--target-loss", TARGET, "--json")
    return json.loads(fit.read_text()), json.loads(plan)


def test_from_a_file_to_the_compute_of_a_target(
    server: Server, page: Page, shared: Path, printed: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    fit, plan = printed
    visit(page, server, "data")
    upload(page, "chinchilla_epoch.csv", (shared / "runs" / "chinchilla_epoch.csv").read_bytes())
    unfold(page, "Change columns and units")
    for column in ("x", "Model Size"):
        select(page, ROLES["N"], column)
    select(page, ROLES["C"], "Training FLOP")
    unfold(page, "Filter runs")
    enter(page, "Only rows where", CONDITION)
    expect(page.get_by_text("240 of 245 runs")).to_be_visible()
    assert_sound(page, figures=1)

    go(page, "Fit")
    assert page.get_by_role("combobox", name="Law").input_value() == "Loss over size and data (Chinchilla)"
    press(page, "Fit law")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)
    expect(page.get_by_text("1,000 resamples, seed 0.")).to_be_visible()
    assert_parameters(cells(page), fit)
    on_page = downloaded(page, "Fit as JSON")
    for part in ("parameters", "objective", "n", "resamples", "compute"):
        assert_same(on_page[part], fit[part], part)

    go(page, "Explore")
    assert page.get_by_role("radio", name="Surface").is_checked()
    assert_sound(page, figures=1)
    assert page.get_by_test_id("stMetric").count() >= 3

    go(page, "Plan")
    pick(page, "Budget or target", "Target")
    enter(page, TARGET_LOSS, TARGET)
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    assert_sound(page, figures=1)
    sentence = page.get_by_role("heading", level=2).first.inner_text().replace("\xa0", " ")
    assert sentence.splitlines()[0] == plan["sentence"]
    details(page)
    assert_plan(cells(page, 1), plan)
    asked = downloaded(page, "JSON")
    for part in ("question", "allocation", "derived", "p_reach"):
        assert_same(asked[part], plan[part], part)


def assert_same(one: Any, other: Any, where: str) -> None:
    """Check that two JSON values are equal, with numbers to six digits.

    Compiled kernels and numpy add in different orders, so the last digits differ.
    """
    if isinstance(other, dict):
        assert one.keys() == other.keys(), where
        for key in other:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(other, list):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    else:
        assert one == (pytest.approx(other, rel=1e-6) if isinstance(other, float) else other), where


def assert_parameters(rows: list[list[str]], fit: dict[str, Any]) -> None:
    """Check that the table of the fit shows the values and intervals that the terminal printed."""
    parameters = fit["parameters"]
    for row, (name, p) in zip(rows, parameters.items(), strict=False):
        _, value, ci68, ci95, _ = row
        ((shown, half),) = numbers(value)
        assert abs(shown - p["value"]) <= half * 1.001, f"{name}: {value}"
        assert_shows(ci68.replace("to", ""), *p["ci68"])
        assert_shows(ci95.replace("to", ""), *p["ci95"])
    assert len(rows) > len(parameters) == 5


def assert_plan(rows: list[list[str]], plan: dict[str, Any]) -> None:
    """Check that the table of the plan shows the numbers that the terminal printed."""
    asked = {**plan["allocation"], **plan["derived"]}
    assert len(rows) == len(asked)
    for row, (name, quantity) in zip(rows, asked.items(), strict=True):
        _, value, ci68, ci95, note = row
        assert_shows(value, quantity["value"])
        if note.startswith("given"):
            assert name == "loss"
            continue
        assert_shows(ci68.replace("to", ""), *quantity["ci68"])
        assert_shows(ci95.replace("to", ""), *quantity["ci95"])
