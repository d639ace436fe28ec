"""Roles guessed from the names and values of columns. Pure: no table is read here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from engine.schema import NUMERIC_ROLES, SINGLE_ROLES, Direction, Metric, Role, Roles
from engine.store.columns import Column

Guess = Callable[..., Roles]
"""``guess_roles`` or ``guess_curve_roles``."""

# The best names score 100 and the doubtful ones less; where two columns want one role the higher score has it.
_NAMES: dict[Role, dict[str, int]] = {
    Role.N: dict.fromkeys(("params", "n_params", "num_params", "parameters", "n_parameters", "num_parameters"), 92)
    | dict.fromkeys(("param_count", "parameter_count", "params_count", "nparams", "model_size", "model_params"), 90)
    | dict.fromkeys(("trainable_parameters", "trainable_params", "total_params", "total_parameters"), 91)
    | {"n": 60, "size": 45},
    Role.D: dict.fromkeys(("tokens", "n_tokens", "num_tokens", "train_tokens", "training_tokens", "tokens_seen"), 92)
    | dict.fromkeys(("samples_seen", "samples", "n_samples", "num_samples", "train_samples", "training_samples"), 91)
    | dict.fromkeys(("examples_seen", "images_seen", "events_seen", "jets_seen", "sequences_seen"), 91)
    | dict.fromkeys(("examples", "events", "jets", "n_jets", "n_events", "n_examples", "interactions"), 88)
    | dict.fromkeys(("data_size", "n_train", "train_size", "training_set_size", "num_characters", "characters"), 80)
    | {"d": 60, "dataset_size": 65, "phase_space_points": 85},
    Role.U: {"u": 60, "unique": 90, "dataset_size": 64, "d_unique": 95, "n_unique": 90, "unique_d": 95},
    Role.C: dict.fromkeys(("flops", "flop", "train_flops", "training_flops", "train_flop", "training_flop"), 92)
    | dict.fromkeys(("total_flops", "compute", "training_compute", "train_compute", "compute_flops"), 90)
    | {"c": 60},
    Role.LOSS: dict.fromkeys(("val_loss", "loss_val", "validation_loss", "loss_validation", "valid_loss"), 95)
    | dict.fromkeys(("eval_loss", "loss_eval", "test_loss", "loss_test"), 93)
    | dict.fromkeys(("final_loss", "lm_loss", "ce_loss", "cross_entropy", "nll"), 88)
    | {"l": 55, "train_loss": 70, "training_loss": 70, "loss_train": 70, "bpb": 60, "bits_per_byte": 60},
    Role.EPOCHS: {"epochs": 95, "n_epochs": 95, "num_epochs": 95, "passes": 70, "epoch": 60},
    Role.BUDGET: dict.fromkeys(("budget", "compute_budget", "flop_budget", "flops_budget", "budget_flops"), 95)
    | dict.fromkeys(("iso_c", "isoflop", "iso_flop", "iso_flops", "isoflops", "nominal_flops", "nominal_c"), 90),
    Role.GROUP: {
        "group": 100,
        "grp": 90,
        "condition": 85,
        "family": 80,
        "configuration": 75,
        "config": 75,
        "architecture": 74,
    }
    | {"arch": 74, "inputs": 72, "features": 72, "optimizer": 70, "optimiser": 70, "dataset": 68, "data": 60}
    | {"model": 66, "variant": 66, "method": 66, "series": 66, "task": 60, "process": 66, "model_name": 50},
    Role.SEED: {"seed": 100, "random_seed": 95, "rng_seed": 95, "rng": 60, "replicate": 60, "repeat": 60},
    Role.RUN: {"run": 100, "run_name": 98, "run_id": 96, "cell": 70, "experiment": 70, "name": 65, "id": 60}
    | {"label": 55, "model_name": 55, "row": 50, "index": 45, "model": 40},
    Role.STATUS: {"status": 95, "state": 70, "run_status": 96, "run_state": 90},
    Role.WEIGHT: {"weight": 90, "weights": 90, "run_weight": 90, "sample_weight": 90, "fit_weight": 95},
}
_EXACT = {"N": Role.N, "D": Role.D, "U": Role.U, "C": Role.C, "loss": Role.LOSS}
_STEPS = ("step", "global_step", "update", "updates", "n_updates", "iteration", "iterations", "iter", "steps")
# Words that give a role away inside a longer name.
_WORDS: dict[Role, tuple[set[str], int]] = {
    Role.N: ({"param", "params", "parameter", "parameters"}, 60),
    Role.D: ({"tokens", "samples", "examples", "jets", "events", "sequences", "characters", "images"}, 55),
    Role.U: ({"unique"}, 85),
    Role.C: ({"flop", "flops", "compute"}, 50),
    Role.LOSS: ({"loss"}, 58),
}
_NOT_A_SIZE = {
    "per",
    "ratio",
    "fraction",
    "frac",
    "share",
    "rate",
    "log",
    "log10",
    "ln",
    "std",
    "se",
    "sem",
    "err",
    "sd",
}
_NOT_A_SIZE |= {
    "util",
    "utilisation",
    "utilization",
    "mfu",
    "peak",
    "rule",
    "budget",
    "init",
    "initial",
    "scale",
    "coef",
}
_LARGER = {"accuracy", "acc", "auc", "auroc", "recall", "ndcg", "mrr", "map", "precision", "f1", "hit", "hits", "hr"}
_LARGER |= {"rejection", "rej", "bleu", "rouge", "score", "reward", "r2", "purity", "efficiency", "significance"}
_SMALLER = {"perplexity", "ppl", "mse", "rmse", "mae", "error", "wer", "cer", "fid", "brier", "ece", "excess", "mape"}
_SMALLER |= {"entropy", "loss", "nll", "bpb"}
_NOT_QUALITY = {
    "std",
    "se",
    "sem",
    "sd",
    "sigma",
    "init",
    "initial",
    "weight",
    "scale",
    "min",
    "bar",
    "lo",
    "hi",
    "coef",
}
_HYPER = {"lr", "bsz", "batch", "width", "depth", "layers", "layer", "heads", "dropout", "warmup", "momentum", "step"}
_HYPER |= {"steps", "hidden", "decay", "temperature", "vocab", "negatives", "dim", "ffn", "context", "iterations"}
_HYPER_NAMES = {"learning_rate", "d_model", "n_embd", "seq_len", "sequence_length", "embedding_size", "vocab_size"}
_WHAT: dict[Role, str] = {
    Role.N: "the number of parameters",
    Role.D: "the samples seen",
    Role.U: "unique samples",
    Role.C: "compute",
    Role.LOSS: "a loss",
    Role.EPOCHS: "epochs",
    Role.BUDGET: "a compute budget",
    Role.GROUP: "a group",
    Role.SEED: "a seed",
    Role.RUN: "the name of a run",
    Role.STATUS: "how a run ended",
    Role.WEIGHT: "a weight",
}


def with_guesses(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with ``guess`` and ``why`` filled in; no two columns share a role that only one can have."""
    taken = _single_roles(columns)
    described = [(c, *_describe(c, taken.get(c.name))) for c in columns]
    return tuple(replace(column, guess=role, why=why) for column, role, why in described)


def guess_roles(columns: Sequence[Column], agreed: Iterable[str] = ()) -> Roles:
    """The mapping that names and values suggest.

    A text column gets a numeric role only when its proposed conversion is agreed to, that is when ``agreed`` names it.
    """
    agreed = set(agreed)
    conversions = {c.name: c.conversion.kind for c in columns if c.conversion and c.name in agreed}
    singles: dict[str, str] = {}
    metrics: list[Metric] = []
    hyper: list[str] = []
    for column in with_guesses(columns):
        usable = column.kind in ("number", "bool") or column.name in conversions
        if column.guess in NUMERIC_ROLES and not usable:
            continue
        if column.guess in SINGLE_ROLES:
            singles[column.guess.value] = column.name
        elif column.guess is Role.METRIC and usable:
            metrics.append(Metric(column=column.name, direction=better(column.name)))
        elif column.guess is Role.HYPER and usable:
            hyper.append(column.name)
    used = {*singles.values(), *(m.column for m in metrics), *hyper}
    kept = {name: kind for name, kind in conversions.items() if name in used}
    return Roles.model_validate({**singles, "metrics": metrics, "hyper": hyper, "conversions": kept})


def guess_curve_roles(columns: Sequence[Column], agreed: Iterable[str] = ()) -> Roles:
    """The mapping that names and values suggest for training curves: as ``guess_roles``, with the updates besides."""
    roles = guess_roles(columns, agreed)
    named = {c.name: plain(c.name) for c in columns if c.kind == "number"}
    found = [name for wanted in _STEPS for name, text in named.items() if text == plain(wanted)]
    if not found:
        return roles
    return roles.model_copy(update={"step": found[0], "hyper": tuple(h for h in roles.hyper if h != found[0])})


def withheld(columns: Sequence[Column], roles: Roles) -> dict[str, str]:
    """Role -> why the column whose name reads like it does not have it: text that nobody agreed to read as numbers."""
    used = {roles.column(role) for role in SINGLE_ROLES} | {m.column for m in roles.metrics} | {*roles.hyper}
    return {
        c.guess.value: f"column {c.name!r} holds text such as {c.cell}; {c.way_to_numbers}"
        for c in columns
        if c.guess in NUMERIC_ROLES
        and c.kind == "text"
        and c.conversion
        and c.name not in used
        and roles.column(c.guess) is None
    }


def better(name: str) -> Direction:
    """Which direction of a metric is better, from its name; larger where the name says nothing."""
    return "min" if _tokens(name) & _SMALLER else "max"


def plain(name: str) -> str:
    """A name in lower-case words joined by underscores: ``Model Size``, ``modelSize`` and ``model-size`` agree."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", split.lower()).strip("_")


def _tokens(name: str) -> set[str]:
    return set(plain(name).split("_"))


def _single_roles(columns: Sequence[Column]) -> dict[str, Role]:
    """Column name -> the single-column role that it wins; the best scores choose first, then the order of the file."""
    wishes = [(-_score(c, role), i, role) for i, c in enumerate(columns) for role in _NAMES if _score(c, role) > 0]
    taken: dict[str, Role] = {}
    for _, i, role in sorted(wishes):
        if columns[i].name not in taken and role not in taken.values():
            taken[columns[i].name] = role
    return taken


def _score(column: Column, role: Role) -> float:
    """How well a column would fill a single-column role; 0 for not at all."""
    if _EXACT.get(column.name) is role:
        score = 100.0
    else:
        score = float(_NAMES[role].get(plain(column.name), 0) or _word_score(column.name, role))
    if score == 0:
        return 0
    if role in (Role.GROUP, Role.RUN):
        return score + _label_bonus(column, role)
    return score + _number_bonus(column, role)


def _word_score(name: str, role: Role) -> int:
    words, score = _WORDS.get(role, (set(), 0))
    tokens = _tokens(name)
    if not tokens & words or tokens & _NOT_A_SIZE or (role is Role.D and "unique" in tokens):
        return 0
    return score


def _number_bonus(column: Column, role: Role) -> float:
    """Plausible values lift a candidate; a size or a compute that never exceeds 1 is none at all."""
    if role is Role.STATUS:
        return 0 if column.kind == "text" else -1000
    if role is Role.SEED:
        return 0
    if column.kind == "text":
        return -5 if column.conversion else -1000
    if column.kind != "number":
        return -1000
    top = column.maximum if column.maximum is not None else 0.0
    if role in (Role.N, Role.D, Role.U, Role.C, Role.BUDGET) and top <= 1:
        return -1000
    return 2 if column.whole and role in (Role.N, Role.D, Role.U) else 0


def _label_bonus(column: Column, role: Role) -> float:
    if column.kind == "number" and role is Role.GROUP and column.distinct > 20:
        return -1000
    one = column.distinct <= 1
    if role is Role.RUN:
        return -1000 if one and plain(column.name) not in ("run", "run_name", "run_id") else 0
    return -40 if one else 0


def _describe(column: Column, role: Role | None) -> tuple[Role, str]:
    if role is not None:
        wait = "" if column.kind != "text" or role not in NUMERIC_ROLES else "; convert its text to numbers to use it"
        return role, f"The name reads like {_WHAT[role]}{wait}."
    if column.kind not in ("number", "bool"):
        return Role.UNUSED, "Text without a role of its own." if column.kind == "text" else "A date."
    tokens = _tokens(column.name)
    if tokens & (_LARGER | _SMALLER) and not tokens & _NOT_QUALITY:
        side = "smaller" if better(column.name) == "min" else "larger"
        return Role.METRIC, f"The name reads like a metric; {side} is better."
    rival = next((role for role in _NAMES if role not in (Role.GROUP, Role.RUN) and _score(column, role) > 0), None)
    if rival is not None:
        return Role.UNUSED, f"The name reads like {_WHAT[rival]} too; another column fits {rival} better."
    if tokens & _HYPER or plain(column.name) in _HYPER_NAMES:
        return Role.HYPER, "The name reads like a hyperparameter."
    return Role.UNUSED, "Neither name nor values say what it is."
