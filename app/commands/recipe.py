"""`isoplan recipe`: recommend the settings of a recommender for a budget and the served metric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.files import read_fit_file
from isoplan.app.commands.shared.options import AsJson, CurveFile, CurveMap, Form, OtherRule, Seed, TokensPerSample
from isoplan.app.commands.shared.output import say_as
from isoplan.app.commands.shared.own_sweeps import Asked, CurveOptions, ReadOptions, fit_runs, fit_sweep, joined
from isoplan.app.commands.shared.rules import Behind, read_used
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.recommender import (
    Evidence,
    LearningRate,
    Settings,
    Stage2,
    as_text,
    recommend,
    with_fallback,
)
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.document import document
from isoplan.engine.planning.recommender.metric_names import printed_name
from isoplan.engine.planning.recommender.negatives import CHUNK
from isoplan.engine.planning.recommender.recipe import OTHERWISE
from isoplan.engine.planning.scenario.typed_rules import is_measured
from isoplan.engine.quantities import parse_number, parse_share

Fits = Annotated[
    list[str] | None, typer.Option(metavar="[METRIC=]FIT.json", help="Fit of one metric; may be repeated.")
]

OwnRuns = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="TABLE",
        help="Table of your runs, with sweeps of N and D, share, batch or negatives; with C for --rule measured.",
    ),
]
OwnMap = Annotated[
    list[str] | None,
    typer.Option("--map-runs", metavar="NAME=COLUMN,...", help="Its columns: N=params,K=neg_samples,recall@10=r10."),
]
SweepMap = Annotated[
    list[str] | None, typer.Option(metavar="ROLE=COLUMN,...", help="Columns of that table, as in --map.")
]


def recipe(
    budget: Annotated[str, typer.Option(help="FLOPs to spend: 1e18, 3 EFLOP, 200 H200 hours.")],
    metric: Annotated[str, typer.Option(help="Metric that the model is used for.")],
    allocation: Fits = None,
    batch: Fits = None,
    share: Annotated[Path | None, typer.Option(help="Table of the share sweep, one row per run.")] = None,
    share_column: Annotated[str, typer.Option(help="Column of shares in this table, as fractions.")] = "s",
    map_share: SweepMap = None,
    negatives: Annotated[Path | None, typer.Option(help="Table of the sweep of extra negatives.")] = None,
    negatives_column: Annotated[str, typer.Option(help="Column of extra negatives in this table.")] = "K",
    map_negatives: SweepMap = None,
    device: Annotated[str, typer.Option(help="Device that trains stage 2; its memory limits K.")] = "",
    devices: Annotated[int, typer.Option(help="Number of devices.")] = 1,
    width: Annotated[int, typer.Option(help="Joint embedding width h.")] = 0,
    length: Annotated[int, typer.Option(help="Events in a sequence.")] = 256,
    precision: Annotated[str, typer.Option(help="Precision of the logits: bf16, fp32, fp16 or fp8.")] = "bf16",
    chunk: Annotated[int, typer.Option(help="Number of candidates scored at a time; 0 scores all at once.")] = CHUNK,
    batch_size: Annotated[str, typer.Option(help="Batch size in sequences, instead of the critical one.")] = "",
    rate: Annotated[
        str, typer.Option(help="Learning rate at --rate-batch; it increases as the square root of the batch.")
    ] = "",
    rate_batch: Annotated[str, typer.Option(help="Batch size at which --rate applies.")] = "",
    rule: OtherRule = "",
    n_p: TokensPerSample = "",
    runs: OwnRuns = None,
    map_runs: OwnMap = None,
    curves: CurveFile = None,
    map_curves: CurveMap = None,
    convert: options.Convert = None,
    derive: options.Derive = None,
    rows: options.RowsOfEachRun = None,
    where: options.Where = "",
    pool: options.Pool = None,
    instead: Annotated[
        str, typer.Option(metavar="s=0.06,B=2048,K=1e6", help="Other values whose cost is computed.")
    ] = "",
    published: Annotated[
        bool, typer.Option(help="Use the values of the paper where your runs determine nothing.")
    ] = True,
    bootstrap: Annotated[int, typer.Option(min=0, help="Refits of each sweep; 0 for none.")] = 200,
    seed: Seed = 0,
    form: Form = "text",
    as_json: AsJson = False,
) -> None:
    """Recommend the settings of a recommender for a budget."""
    _used("--share-column", share_column != "s", "--share", share)
    _used("--negatives-column", negatives_column != "K", "--negatives", negatives)
    _used("--map-share", bool(map_share), "--share", share)
    _used("--map-negatives", bool(map_negatives), "--negatives", negatives)
    machine = (("--devices", devices != 1), ("--width", width), ("--length", length != 256),
               ("--chunk", chunk != CHUNK), ("--precision", precision != "bf16"))  # fmt: skip
    for option, given in machine:
        _used(option, bool(given), "--device", device)
    _used("--map-runs", bool(map_runs), "--runs", runs)
    _used("--curves", curves is not None, "--runs", runs)
    _used("--map-curves", bool(map_curves), "--curves", curves)
    how = ReadOptions(convert or (), derive or (), rows, where, pool or ())
    reads = (("--convert", convert), ("--derive", derive), ("--rows", rows), ("--where", where), ("--pool", pool))
    for option, of_table in reads:
        _used(option, bool(of_table), "--runs", runs or share or negatives)
    C = reading.read_budget(budget)
    metric, spelled = printed_name(metric), metric
    asked = Asked(metric, bootstrap, seed, spelled)
    own = joined(
        Evidence(batch=_fits(batch, "batch"), allocation=_fits(allocation, "allocation")),
        fit_sweep("s", share, share_column, map_share, asked, how),
        fit_sweep("K", negatives, negatives_column, map_negatives, asked, how),
        fit_runs(runs, map_runs or (), CurveOptions(curves, map_curves or ()), asked, not is_measured(rule), how),
    )
    evidence = own
    if published:
        from isoplan.data.recommender import published_evidence

        evidence = with_fallback(own, published_evidence())
    named = [one for one in map_runs or () if rule]
    used = read_used(rule, n_p, Behind(runs, named, None, how.convert, how.derive, how.where))
    settings = Settings(
        _scaling(rate, rate_batch),
        _stage2(device, devices, width, length, precision, chunk),
        batch=parse_number(batch_size, "option --batch-size") if batch_size else None,
        otherwise=_others(instead),
    )
    answer = recommend(evidence, C, metric, settings, used)
    made = document(answer, own, published)
    say_as("json" if as_json else form, as_text(answer), made, answer.recipe.warnings)


def _used(option: str, given: bool, other: str, there: object) -> None:
    """Check that ``option`` is only given together with ``other``. Raises PlannerError otherwise."""
    if given and not there:
        raise PlannerError(f"{option} requires {other}. Add it, or leave {option} out.")


def _fits(options: list[str] | None, what: str) -> dict[str, Fit]:
    """Return fits by metric: the metric of the fit, or the one that the option names."""
    found: dict[str, Fit] = {}
    for option in options or []:
        name, equals, file = option.rpartition("=")
        fitted = read_fit_file(file if equals else option)
        metric = printed_name(name or fitted.spec.y)
        if metric in found:
            raise PlannerError(f"--{what} gives two fits for {metric}: keep one.")
        found[metric] = fitted
    return found


def _scaling(rate: str, batch: str) -> LearningRate:
    """Return the reference learning rate and its batch size, by default those of the paper."""
    given = {"rate": (rate, "option --rate"), "batch": (batch, "option --rate-batch")}
    return LearningRate(**{name: parse_number(text, what) for name, (text, what) in given.items() if text})


def _stage2(device: str, devices: int, width: int, length: int, precision: str, chunk: int) -> Stage2 | None:
    if not device:
        return None
    if width < 1:
        raise PlannerError("--device caps K by its memory, for which the embedding width counts: add --width.")
    return Stage2(find_device(device), width, devices, length, precision, chunk or None)


def _others(text: str) -> dict[Setting, tuple[float, ...]]:
    """Return alternatives by setting from ``s=0.06,K=1e6``; the default ones of the recipe if ``text`` is empty."""
    found: dict[Setting, tuple[float, ...]] = {}
    for entry in (e for e in text.split(",") if e.strip()):
        name, equals, value = (part.strip() for part in entry.partition("="))
        setting = next((k for k in OTHERWISE if k == name), None)
        if not equals or setting is None:
            raise PlannerError(f"--instead cannot read {entry!r}: write s, B or K and a value, as in s=0.06.")
        read = parse_share if setting == "s" else parse_number
        found[setting] = (*found.get(setting, ()), read(value, f"{setting} of --instead"))
    return found
