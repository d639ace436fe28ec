"""Functions that read and check the options of the public functions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from isoplan.engine.errors import PlannerError

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit, GroupedFit

    Rule: TypeAlias = str | ComputeRule
    """A ComputeRule, or a text: "6ND", "6npND", "NAME:FIELD=VALUE,...", "measured", or a formula of N and D."""

Amount: TypeAlias = str | float
"""A number, or a number as text with or without a unit: 2e6, "2M", "24 h"."""


def check_options(given: Iterable[str], known: Iterable[str], function: Callable[..., object]) -> None:
    """Raise PlannerError if ``function`` does not accept one of the options ``given``.

    ``known`` are accepted options that are not keywords in the signature of ``function``.
    """
    names = [*known, *(getattr(function, "__kwdefaults__", None) or ())]
    unknown = next((name for name in given if name not in names), None)
    if unknown is not None:
        close = difflib.get_close_matches(unknown, names, n=1)
        hint = close[0] if close else f"one of {', '.join(names)}"
        raise PlannerError(f"Option {unknown}: isoplan.{function.__name__} has no such option. Use {hint}.")


def check_choice(option: str, value: object, choices: Iterable[object]) -> None:
    """Raise PlannerError that names ``option`` unless ``value`` is one of ``choices``."""
    allowed = list(choices)
    if value not in allowed:
        listed = ", ".join(repr(one) for one in allowed)
        raise PlannerError(f"Option {option}: {value!r} is not possible. Use one of {listed}.")


def as_text(value: object) -> str:
    """Return a value as text, with all digits of a number; None gives an empty text."""
    return "" if value is None else str(value)


def texts_of(options: Mapping[str, object]) -> dict[str, str]:
    """Return the options as texts, with all digits of numbers. Options that are None are omitted."""
    return {name: as_text(value) for name, value in options.items() if value is not None}


def as_tuple(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return one or several names as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def single(fit: Fit | GroupedFit, option: str) -> Fit:
    """Return ``fit`` if it is a single fit. Otherwise raise PlannerError that names ``option``."""
    from isoplan.engine.fitting import Fit, GroupedFit

    if isinstance(fit, GroupedFit):
        groups = list(fit.fits)
        raise PlannerError(
            f"Option {option}: this is a fit of {len(groups)} groups ({', '.join(groups[:8])}). "
            f"Use one of them, as in .fits[{groups[0]!r}]."
        )
    if not isinstance(fit, Fit):
        raise PlannerError(
            f"Option {option}: {type(fit).__name__} is not a fit. Use the result of isoplan.fit or isoplan.load."
        )
    return fit


def file_name(fit: Fit) -> str:
    """Return the name of the file in which a saved script looks for ``fit``."""
    return f"fit-{fit.hash}.json"
