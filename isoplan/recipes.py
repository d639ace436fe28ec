"""Recommended settings of a recommender, from published evidence and from run tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from isoplan.answers import Answer
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.typed_rules import is_measured
from isoplan.measured import choose_rule
from isoplan.options import Amount, as_text, as_tuple, check_choice, check_options, read_budget, read_number, single
from isoplan.tables import as_source, python_names, read_curves, read_table

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit
    from isoplan.engine.planning.recommender import Evidence, LearningRate, Recommendation, Stage2
    from isoplan.engine.planning.recommender.choice import Setting
    from isoplan.engine.planning.recommender.run_table import Table as Sweeps
    from isoplan.engine.schema import Curves, RowsOfRun, Runs
    from isoplan.engine.store.files.table_files import OpenTable
    from isoplan.rules import Rule
    from isoplan.tables import Table


class Stage2Options(TypedDict, total=False):
    """Machine of stage 2; ``width`` is h of the embeddings, ``length`` the events of a sequence."""

    device: str
    devices: int
    width: int
    length: int
    precision: str
    chunk: int | None


class RecipeOptions(Stage2Options, total=False):
    """Options of stage 2 and of run tables; ``map_runs`` maps roles, settings and metrics to columns."""

    map_runs: Mapping[str, str]
    curves: Table
    map_curves: Mapping[str, str]
    convert: str | Iterable[str]
    derive: Mapping[str, str]
    rows: RowsOfRun
    where: str
    pooled: str | Iterable[str]
    bootstrap: int
    seed: int


OF_TABLES = ("map_runs", "curves", "map_curves", "convert", "derive", "rows", "where", "pooled")


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
) -> Answer[Recommendation]:
    """Choose share, batch, model, events, negatives and learning rate of a recommender.

    Parameters
    ----------
    budget, metric : number, str
        FLOPs, and the serving metric, as in "recall@10".
    runs : table or several
        Sweeps of N and D, share, batch or negatives.
    allocation, batch, batch_size, rate, rate_batch : mappings, numbers
        Fits by metric; a batch in sequences instead of the critical one; a learning rate and its batch.
    instead : mapping
        Other values whose cost is computed, as in {"s": 0.06, "B": 2048, "K": 1e6}.
    rule, n_p : str, ComputeRule, number
        As for ``isoplan.plan``.
    published : bool
        Use published evidence if the runs have none.
    **options : of stage 2 and of tables
        device, devices, width, length, precision, chunk (None: all candidates at once); map_runs {"N": "params",
        "K": "negatives"}, curves, map_curves, convert, derive, rows, where, pooled, bootstrap (refits) and seed.

    Raises
    ------
    PlannerError
        An option is wrong, or no evidence measures the metric.
    """
    from isoplan.engine.planning.recommender import Settings, as_text, recommend
    from isoplan.engine.planning.recommender.document import document
    from isoplan.engine.planning.recommender.metric_names import printed_name

    check_options(options, RecipeOptions.__annotations__, recipe)
    tables = _as_tables(runs, options)
    C, used = read_budget(budget), _read_rule(rule, n_p, tables, options)
    fits = {"batch": _read_fits(batch or {}, "batch"), "allocation": _read_fits(allocation or {}, "allocation")}
    own, notes = _own_evidence(tables, fits, metric, options, needed=not is_measured(rule))
    scaling, size = _read_rate(rate, rate_batch), None if batch_size is None else read_number(batch_size, "batch_size")
    settings = Settings(scaling, _read_stage2(options), size, _read_others(instead or {}))
    answer = recommend(_with_published(own) if published else own, C, printed_name(metric), settings, used)
    return Answer(answer, as_text(answer), document(answer, own, published), answer.recipe.warnings, notes)


def _as_tables(runs: Table | Sequence[Table], options: RecipeOptions) -> list[Table]:
    """Return the tables as a list. Raises PlannerError for a table option without tables."""
    tables = [*runs] if isinstance(runs, list | tuple) else [cast("Table", runs)]
    alone = next((name for name in OF_TABLES if name in options), "")
    if alone and not tables:
        raise PlannerError(f"Option {alone}: it belongs to runs. Add runs, or remove {alone}.")
    return tables


def _own_evidence(
    tables: Sequence[Table], fits: Mapping[str, Mapping[str, Fit]], metric: str, options: RecipeOptions, needed: bool
) -> tuple[Evidence, tuple[str, ...]]:
    """Return the evidence of the fits and of all tables, and notes on how the tables were read."""
    from isoplan.engine.planning.recommender import Evidence
    from isoplan.engine.planning.recommender.builder import join

    whole, notes = Evidence(batch=fits["batch"], allocation=fits["allocation"]), list[str]()
    for table in tables:
        found, about = _evidence_of(table, metric, options, needed)
        for name in ("share", "negatives", "batch", "allocation"):
            if getattr(whole, name) and getattr(found, name):
                raise PlannerError(f"Option runs: two tables or fits determine the {name}. Leave one of them out.")
        whole, notes = join(whole, found), [*notes, *about]
    return whole, tuple(notes)


def _evidence_of(table: Table, metric: str, options: RecipeOptions, needed: bool) -> tuple[Evidence, tuple[str, ...]]:
    """Return the evidence of a table, sorted by the settings that vary in it."""
    from isoplan.engine.planning.recommender.builder import REFITS, build_evidence
    from isoplan.engine.planning.recommender.metric_names import printed_name
    from isoplan.engine.store.files.table_files import open_table

    roles, others = _split_columns(options.get("map_runs", {}))
    with python_names(), open_table(
        as_source(table), roles, options.get("where", ""), agreed=as_tuple(options.get("convert", ())),
        derived=dict(options.get("derive", {})), rows=options.get("rows"), pooled=as_tuple(options.get("pooled", ())),
    ) as opened:  # fmt: skip
        sweeps = _read_sweeps(opened, others, metric)
        if not sweeps.rows and needed:
            raise PlannerError(
                "Option runs: no runs vary N, s, B or K while the rest is equal. Name the columns, as in "
                'map_runs={"N": "params", "K": "negatives"}.'
            )
        built = build_evidence(
            sweeps, (printed_name(metric),),
            curves=partial(_curves_of, sweeps, options) if "curves" in options else None,
            refits=options.get("bootstrap", REFITS), seed=options.get("seed", 0),
        )  # fmt: skip
        return built.evidence, (*opened.notes, *sweeps.runs.notes, sweeps.sentence)


def _split_columns(columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns by role, and those of settings and metrics; sizes are in both."""
    from isoplan.engine.planning.recommender.columns import SIZES
    from isoplan.engine.schema import SINGLE_ROLES

    roles = (*(role.value for role in SINGLE_ROLES), "metric", "hyper")
    of_roles = {name: column for name, column in columns.items() if name in roles}
    return of_roles, {name: column for name, column in columns.items() if name not in roles or name in SIZES}


def _read_sweeps(opened: OpenTable, others: Mapping[str, str], metric: str) -> Sweeps:
    from isoplan.engine.planning.recommender.columns import find_columns
    from isoplan.engine.planning.recommender.metric_names import metric_name, printed_name
    from isoplan.engine.planning.recommender.run_table import read_sweeps

    numeric = [c.name for c in opened.columns if c.kind == "number" or c.name in opened.roles.conversions]
    text = [c.name for c in opened.columns if c.kind == "text"]
    served = printed_name(metric)
    own = {served: metric} if metric in numeric and metric_name(metric) == served else {}
    return read_sweeps(
        opened.read, find_columns(numeric, opened.roles, {**own, **others}, text), waiting=opened.waiting
    )


def _curves_of(sweeps: Sweeps, options: RecipeOptions, runs: Runs) -> Curves:
    extra = tuple(sweeps.columns.settings[name] for name in ("B",) if name in sweeps.columns.settings)
    return read_curves(options["curves"], runs, options.get("map_curves", {}), extra=extra)


def _with_published(own: Evidence) -> Evidence:
    from isoplan.data.recommender import published_evidence
    from isoplan.engine.planning.recommender import with_fallback

    return with_fallback(own, published_evidence())


def _read_rule(rule: Rule, n_p: Amount, tables: Sequence[Table], options: RecipeOptions) -> ComputeRule | None:
    """Return the compute rule; a measured one is fitted to the first table."""
    if not (is_measured(rule) and tables):
        return choose_rule(rule, n_p, None, None)
    runs = read_table(
        tables[0], _split_columns(options.get("map_runs", {}))[0], where=options.get("where", ""),
        agreed=as_tuple(options.get("convert", ())), derived=dict(options.get("derive", {})),
    )  # fmt: skip
    return choose_rule(rule, n_p, runs, None)


def _read_fits(fits: Mapping[str, Fit], option: str) -> dict[str, Fit]:
    from isoplan.engine.planning.recommender.metric_names import printed_name

    return {printed_name(metric): single(fit, option) for metric, fit in fits.items()}


def _read_rate(rate: Amount | None, batch: Amount | None) -> LearningRate:
    """Return the learning rate and its batch; the published value is used if one is None."""
    from isoplan.engine.planning.recommender import LearningRate

    given = {"rate": (rate, "rate"), "batch": (batch, "rate_batch")}
    return LearningRate(**{name: read_number(x, option) for name, (x, option) in given.items() if x is not None})


def _read_stage2(options: RecipeOptions) -> Stage2 | None:
    """Return the machine of stage 2; None without a device. Raises PlannerError for its options without a device."""
    from isoplan.engine.hardware import find_device
    from isoplan.engine.planning.recommender import Stage2

    given = {name: x for name, x in options.items() if name in Stage2Options.__annotations__ and name != "device"}
    if not options.get("device"):
        if given:
            raise PlannerError(f"Option {next(iter(given))}: it belongs to device. Add device, or remove it.")
        return None
    if not options.get("width"):
        raise PlannerError("Option width: the memory of the device limits K by the width of embeddings. Add width.")
    return Stage2(find_device(options["device"]), **given)  # type: ignore[arg-type]


def _read_others(values: Mapping[Setting, Amount | Sequence[Amount]]) -> dict[Setting, tuple[float, ...]]:
    """Return the other values by setting, with shares as fractions."""
    from isoplan.engine.planning.recommender.recipe import OTHERWISE
    from isoplan.engine.quantities import parse_number, parse_share

    found: dict[Setting, tuple[float, ...]] = {}
    for setting, value in values.items():
        check_choice("instead", setting, OTHERWISE)
        read = parse_share if setting == "s" else parse_number
        several = value if isinstance(value, list | tuple) else (value,)
        found[setting] = tuple(read(as_text(x), f"{setting} of option instead") for x in several)
    return found
