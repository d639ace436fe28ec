"""Recommend the settings of a recommender, from published evidence and from run tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from isoplan.engine.planning.scenario.typed_rules import is_measured, refuse_alone
from isoplan.options import Amount, as_text, as_tuple, check_choice, check_options, single, texts_of
from isoplan.rules import choose_rule
from isoplan.tables import as_source, python_names, read_curves, read_table, with_python_names

if TYPE_CHECKING:
    from isoplan.engine.fitting import Fit
    from isoplan.engine.planning.questions.answer import Answer
    from isoplan.engine.planning.recommender import Evidence
    from isoplan.engine.planning.recommender.choice import Setting
    from isoplan.engine.planning.recommender.own_runs import Asked
    from isoplan.engine.schema import Curves, RowsOfRun, Runs
    from isoplan.options import Rule
    from isoplan.tables import Table


class TableOptions(TypedDict, total=False):
    """Options for reading run tables; ``map_runs`` assigns columns to roles, settings and metrics."""

    map_runs: Mapping[str, str]
    curves: Table
    map_curves: Mapping[str, str]
    convert: str | Iterable[str]
    derive: Mapping[str, str]
    rows: RowsOfRun
    where: str
    pooled: str | Iterable[str]


class RecipeOptions(TableOptions, total=False):
    """Options for reading tables, for the training of stage 2, and for a budget in money.

    ``width`` is h, the width of the embeddings. ``length`` is the number of events of a sequence.
    """

    device: str
    devices: int
    width: int
    length: int
    precision: str
    chunk: int | None
    hour_price: Amount
    utilisation: Amount
    currency: str
    bootstrap: int
    seed: int


def recipe(
    budget: Amount,
    metric: str,
    *,
    runs: Table | Sequence[Table] = (),
    allocation: Mapping[str, Fit] | None = None,
    batch: Mapping[str, Fit] | None = None,
    batch_size: Amount | None = None,
    rate: Amount | None = None,
    rate_batch: Amount | None = None,
    instead: Mapping[Setting, Amount | Sequence[Amount]] | None = None,
    rule: Rule = "",
    n_p: Amount = "",
    published: bool = True,
    **options: Unpack[RecipeOptions],
) -> Answer:
    """Choose embedder share, batch size, model size, events, negatives and learning rate of a recommender.

    Parameters
    ----------
    budget : number or str
        FLOPs, device hours or money: 1e18, "200 H200 hours", or "500 EUR" with device and hour_price.
    metric : str
        The metric that the model is used for, such as "recall@10".
    runs : table or several
        Sweeps of N and D, of the share s, of the batch B, or of the extra negatives K.
    allocation, batch : mappings
        Fits by metric. ``allocation``: compute-optimal N and D. ``batch``: critical batch size.
    batch_size : number
        Batch size in sequences, instead of the critical batch size.
    rate, rate_batch : numbers
        A learning rate, and the batch size at which it applies.
    instead : mapping
        Other values of s, B and K, to compute the cost of using them: {"s": 0.06, "B": 2048, "K": 1e6}.
    rule, n_p : str, ComputeRule, number
        The compute rule and the tokens per sample, as for ``isoplan.plan``.
    published : bool
        Use published evidence for settings that the runs do not determine.
    **options : options of stage 2 and options for reading tables
        device, devices, width, length, precision, chunk (None: all candidates at once); hour_price, utilisation and
        currency ("EUR" or "USD") of a budget in money; map_runs {"N": "params",
        "K": "negatives"}, curves, map_curves, convert, derive, rows, where, pooled, bootstrap (refits) and seed.

    Raises
    ------
    PlannerError
        An option is wrong, or there is no evidence for the metric.
    """
    from isoplan.engine.planning.recommender import Evidence
    from isoplan.engine.planning.recommender.builder import REFITS
    from isoplan.engine.planning.recommender.document import reply
    from isoplan.engine.planning.recommender.own_runs import Asked, combine
    from isoplan.engine.planning.recommender.recipe import OTHERWISE
    from isoplan.engine.planning.recommender.spending import read_budget
    from isoplan.engine.planning.recommender.typed_settings import SETTINGS, read_settings

    check_options(options, RecipeOptions.__annotations__, recipe)
    tables = [*runs] if isinstance(runs, list | tuple) else [cast("Table", runs)]
    alone = next((name for name in TableOptions.__annotations__ if name in options), "")
    if alone and not tables:
        refuse_alone(alone, "runs", "python")
    others = {setting: _as_texts(value) for setting, value in (instead or {}).items()}
    for setting in others:
        check_choice("instead", setting, OTHERWISE)
    chunk = {"chunk": 0} if options.get("chunk", 0) is None else {}
    typed: dict[str, Any] = {**options, **chunk, "batch_size": batch_size, "rate": rate, "rate_batch": rate_batch}
    texts = texts_of({name: typed.get(name) for name in SETTINGS})
    settings = read_settings(texts, others, "python")
    asked = Asked(metric, options.get("bootstrap", REFITS), options.get("seed", 0))
    measured, notes = is_measured(rule), list[str]()
    fits = Evidence(batch=_read_fits(batch or {}, "batch"), allocation=_read_fits(allocation or {}, "allocation"))
    own = combine([fits, *(_evidence_of(table, asked, options, measured, notes) for table in tables)], "python")
    used = choose_rule(rule, n_p, _sized_runs(tables[0], options) if measured and tables else None, None)
    printed = None
    if published:
        from isoplan.data.recommender import published_evidence

        printed = published_evidence()
    read = read_budget(as_text(budget), texts, metric, own, printed, used, "python")
    spent = " ".join(read.notes(as_text(budget)))
    return replace(reply(read.value, metric, own, printed, settings, used, spent), notes=tuple(notes))


def _as_texts(value: Amount | Sequence[Amount]) -> list[str]:
    return [as_text(x) for x in (value if isinstance(value, list | tuple) else (value,))]


def _read_fits(fits: Mapping[str, Fit], option: str) -> dict[str, Fit]:
    from isoplan.engine.planning.recommender.columns import printed_name

    return {printed_name(metric): single(fit, option) for metric, fit in fits.items()}


def _evidence_of(table: Table, asked: Asked, options: RecipeOptions, measured: bool, notes: list[str]) -> Evidence:
    """Return the evidence in a table, from the settings that vary in the table.

    Remarks on how the table was read are added to ``notes``. If ``measured``, the compute rule is fitted to runs, and a
    table without a sweep is allowed.
    """
    from isoplan.engine.planning.recommender.own_runs import evidence_of, roles_of
    from isoplan.engine.store.files.table_files import open_table

    def read(runs: Runs, extra: tuple[str, ...]) -> Curves:
        return read_curves(options["curves"], runs, options.get("map_curves", {}), extra=extra)

    named = options.get("map_runs", {})
    nothing = (
        "Option runs: the table contains no sweep of N, s, B or K with the other settings fixed. Name the columns, "
        'as in map_runs={"N": "params", "K": "negatives"}.'
    )
    how = _how_to_read(options) | {"rows": options.get("rows"), "pooled": as_tuple(options.get("pooled", ()))}
    with python_names(), open_table(as_source(table), roles_of(named), **how) as opened:
        return evidence_of(
            opened, named, asked, curves=read if "curves" in options else None, nothing="" if measured else nothing,
            tell=lambda texts: notes.extend(map(with_python_names, texts)),
        )  # fmt: skip


def _how_to_read(options: RecipeOptions) -> dict[str, Any]:
    return {"where": options.get("where", ""), "agreed": as_tuple(options.get("convert", ())),
            "derived": dict(options.get("derive", {}))}  # fmt: skip


def _sized_runs(table: Table, options: RecipeOptions) -> Runs:
    """Return the runs to which a measured compute rule is fitted."""
    from isoplan.engine.planning.recommender.own_runs import roles_of

    return read_table(table, roles_of(options.get("map_runs", {})), **_how_to_read(options))
