"""Column names: their words, and scores for how well a name fits a role. All functions are pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from isoplan.engine.schema import Role

NOT_A_SIZE = frozenset(
    {"per", "ratio", "fraction", "frac", "share", "rate", "log", "log10", "log2", "lg", "ln", "std", "se", "sem"}
    | {"err", "sd", "util", "utilisation", "utilization", "mfu", "peak", "rule", "budget", "init", "initial"}
    | {"scale", "coef"}
)
"""Words that show that a column is not a size, although its name also contains a word for a size. For example, "per" in
tokens_per_second shows that the column is not a number of tokens.
"""
LARGER = frozenset(
    {"accuracy", "acc", "auc", "auroc", "recall", "ndcg", "mrr", "map", "precision", "f1", "hit", "hits", "hr"}
    | {"rejection", "rej", "bleu", "rouge", "score", "reward", "r2", "purity", "efficiency", "significance"}
)
"""Words in the names of metrics for which a larger value is better."""
SMALLER = frozenset(
    {"perplexity", "ppl", "mse", "rmse", "mae", "error", "wer", "cer", "fid", "brier", "ece", "excess", "mape"}
    | {"entropy", "loss", "nll", "bpb", "ce", "bce", "xent", "crossentropy", "logloss"}
)
"""Words in the names of metrics for which a smaller value is better."""
LOSSES = frozenset({"loss", "ce", "bce", "xent", "nll", "crossentropy", "logloss"})
"""Words in the names of losses."""
ERRORS = frozenset({"error", "wer", "cer"})
"""Words in the names of error rates. An error rate is one minus an accuracy."""
PREFIXES = ("config", "summary", "params", "user_attrs", "metrics", "tags", "hparams")
"""Prefixes that experiment trackers add to names, before ".", "/" or "_"."""
_TRACKERS = re.compile(rf"^({'|'.join(PREFIXES)})[._/]+(?=.)", re.IGNORECASE)


def plain(name: str) -> str:
    """Return a name as lower-case words joined by underscores.

    ``Model Size``, ``modelSize`` and ``model-size`` give the same result.
    """
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", split.lower()).strip("_")


def words(name: str) -> frozenset[str]:
    """Return the lower-case words of a name."""
    return frozenset(plain(name).split("_"))


def untracked(name: str) -> str:
    """Return a name without the prefix that experiment trackers add, as in ``config.params`` or ``user_attrs_N``."""
    return _TRACKERS.sub("", name.strip())


def variants(name: str) -> tuple[str, ...]:
    """Return the forms of a column name that are compared with known names.

    The first form has no prefix of an experiment tracker, such as ``config.``. The second form is the whole name. It is
    included only if the prefix ends with "_", because the prefix may then be a word of the name.
    """
    bare = untracked(name)
    return (bare, name) if name.strip()[: -len(bare) or None].endswith("_") else (bare,)


SECONDS = frozenset(
    {
        *("seconds", "train_seconds", "training_seconds", "wall_seconds", "walltime_seconds", "elapsed_seconds"),
        *("runtime_seconds", "duration_seconds", "time_seconds", "seconds_train", "seconds_total", "total_seconds"),
        *("time_s", "train_time_s", "training_time_s", "wall_time_s", "walltime_s", "runtime_s", "duration_s"),
        *("elapsed_s", "runtime", "gpu_seconds", "gpu_s", "gpu_time_s", "device_seconds", "run_seconds"),
    }
)
"""Names (as returned by ``plain``) of columns that contain the duration of a run in seconds. W&B calls this column
``_runtime``.
"""


HOURS = frozenset(
    {
        *("hours", "train_hours", "training_hours", "wall_hours", "walltime_hours", "elapsed_hours", "runtime_hours"),
        *("duration_hours", "total_hours", "gpu_hours", "device_hours", "time_h", "train_time_h", "wall_time_h"),
        *("runtime_h", "duration_h", "gpu_h"),
    }
)
"""Names (as returned by ``plain``) of columns that contain the duration of a run in hours."""


def seconds_column(names: Sequence[str]) -> str:
    """Return the name in ``names`` that denotes the duration of each run; empty if there is none.

    A column of seconds is preferred to a column of hours.
    """
    named = {known: [n for n in names if any(plain(one) in known for one in variants(n))] for known in (SECONDS, HOURS)}
    return next((name for found in named.values() for name in found), "")


def seconds_each(name: str) -> float:
    """Return the number of seconds in the unit of the duration column ``name``: 3600 for hours, or 1."""
    return 3600.0 if any(plain(one) in HOURS for one in variants(name)) else 1.0


# Scores of complete names for each role, at most 100. The column with the highest score gets the role.
NAMES: dict[Role, dict[str, int]] = {
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
    Role.LOSS: dict.fromkeys(("val_loss", "loss_val", "validation_loss", "loss_validation", "valid_loss"), 99)
    | dict.fromkeys(("eval_loss", "loss_eval", "test_loss", "loss_test"), 98)
    | dict.fromkeys(("final_loss", "lm_loss", "ce_loss", "cross_entropy", "nll"), 88)
    | dict.fromkeys(("ce", "bce", "xent", "crossentropy", "log_loss", "logloss"), 87)
    | {
        "loss": 91,
        "l": 55,
        "train_loss": 70,
        "training_loss": 70,
        "loss_train": 70,
        "bpb": 60,
        "bits_per_byte": 60,
        "value": 35,
    },
    Role.EPOCHS: dict.fromkeys(("epochs", "n_epochs", "num_epochs", "num_train_epochs", "max_epochs"), 95)
    | {"passes": 70, "epoch": 60},
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
    Role.RUN: dict.fromkeys(("run_uuid", "trial_id", "trial_number", "trial", "wandb_id"), 94)
    | {"run": 100, "run_name": 98, "run_id": 96, "cell": 70, "experiment": 70, "name": 65, "id": 60}
    | {"label": 55, "model_name": 55, "row": 50, "index": 45, "model": 40},
    Role.STATUS: {"status": 95, "state": 70, "run_status": 96, "run_state": 90}
    | dict.fromkeys(("job_status", "job_state", "trial_status", "trial_state"), 85)
    | dict.fromkeys(("outcome", "run_outcome"), 60),
    Role.WEIGHT: {"weight": 90, "weights": 90, "run_weight": 90, "sample_weight": 90, "fit_weight": 95},
}
_EXACT = {"N": Role.N, "D": Role.D, "U": Role.U, "C": Role.C}
ROLE_WORDS: dict[Role, tuple[set[str], int]] = {
    Role.N: ({"param", "params", "parameter", "parameters"}, 60),
    Role.D: ({"tokens", "samples", "examples", "jets", "events", "sequences", "characters", "images"}, 55),
    Role.U: ({"unique"}, 85),
    Role.C: ({"flop", "flops", "compute"}, 50),
    Role.LOSS: (set(LOSSES), 58),
}
"""Words that suggest a role if they occur in a longer name, and the score of such a name."""
HELD_OUT = frozenset({"val", "eval", "valid", "validation", "evaluation", "test", "dev", "heldout", "holdout"})
"""Words in the names of losses on held-out data."""
_DIFFERENCES = frozenset({"gap", "diff", "difference", "delta", "change", "weight"})
_DATASET_SIZES = frozenset({"n_train", "n_data"})
_DATA = frozenset({"train", "training", "data", "dataset", "trainset"})
_SETS = frozenset({"set", "dataset", "trainset"})
_SIZE = frozenset({"size", "samples", "examples", "tokens"})
_COUNTED = frozenset({"samples", "examples", "jets", "events", "images", "sequences"})
_COUNTS = frozenset({"n", "num", "number", "train", "training"})
_FILLERS = frozenset({"n", "num", "number", "of", "the", "in"})


def name_score(name: str, role: Role) -> float:
    """Return how well a name fits a role: 0 (it does not fit) to 100."""
    if _EXACT.get(name) is role:
        return 100.0
    return float(NAMES[role].get(plain(name), 0) or _word_score(name, role))


def name_rule(name: str, role: Role) -> str:
    """Return the rule by which a name fits a role, as a phrase; empty if the name does not fit.

    >>> name_rule("config.n_params", Role.N), name_rule("val_ce", Role.LOSS)
    ("'n_params' is a known name, without the prefix 'config.'", "'val' and 'ce' denote a held-out loss")
    """
    best = max(variants(name), key=lambda one: name_score(one, role))
    if not name_score(best, role):
        return ""
    own = loss_words(best) if role is Role.LOSS else words(best)
    prefix = name.strip()[: -len(best)] if len(best) < len(name.strip()) else ""
    without = f", without the prefix {prefix!r}" if prefix else ""
    if _EXACT.get(best) is role or plain(best) in NAMES[role]:
        return f"{best!r} is a known name{without}"
    if role is Role.LOSS and held_out(best):
        return f"{min(own & HELD_OUT)!r} and {min(own & LOSSES)!r} denote a held-out loss{without}"
    if found := own & ROLE_WORDS.get(role, (set(), 0))[0]:
        return f"it contains the word {min(found)!r}{without}"
    return f"it denotes the size of a dataset{without}"


def held_out(name: str) -> bool:
    """Return whether a name denotes a loss on held-out data.

    >>> held_out("val_loss"), held_out("test_ce"), held_out("loss"), held_out("val_loss_gap")
    (True, True, False, False)
    """
    own = loss_words(name)
    return bool(own & LOSSES and own & HELD_OUT) and not own & (NOT_A_SIZE | _DIFFERENCES)


def loss_words(name: str) -> frozenset[str]:
    """Return the words of the name of a loss, with "held out", "cross entropy" and "log loss" as one word each."""
    text = plain(untracked(name))
    for pair in ("held_out", "cross_entropy", "log_loss"):
        text = text.replace(pair, pair.replace("_", ""))
    return words(text)


def measured_on(name: str) -> Literal["held-out", "training", ""]:
    """Return the data on which the loss called ``name`` is measured; empty if the name does not show it.

    >>> measured_on("val_mse"), measured_on("train_loss"), measured_on("loss")
    ('held-out', 'training', '')
    """
    own = loss_words(name)
    held, trained = bool(own & HELD_OUT), bool(own & {"train", "training"})
    return "" if held == trained or own & _DIFFERENCES else "held-out" if held else "training"


def of_training(name: str) -> bool:
    """Return whether a name denotes a training loss, in a table that also has a held-out loss.

    A column named ``loss`` counts as a training loss, because another column is the held-out loss.
    """
    own = words(untracked(name))
    return own == {"loss"} or (bool(own & LOSSES and own & {"train", "training"}) and not own & NOT_A_SIZE)


def counts_data_set(name: str) -> bool:
    """Return whether a name denotes the size of a dataset. In a table with epochs, this size is not D (samples seen).

    >>> counts_data_set("train_set_size"), counts_data_set("dataset_examples"), counts_data_set("train_samples")
    (True, True, False)
    """
    own = words(untracked(name))
    sized = "size" in own or bool(own & _SETS and own & _SIZE)
    stated = bool(own & _DATA) and sized and own <= _DATA | _SETS | _SIZE | _FILLERS
    return stated or plain(untracked(name)) in _DATASET_SIZES


def may_count_unique(name: str) -> bool:
    """Return whether a column of D can count the unique samples of a dataset instead of the samples seen.

    >>> may_count_unique("n_train_jets"), may_count_unique("dataset_size"), may_count_unique("samples_seen")
    (True, True, False)
    """
    own = words(untracked(name))
    counted = bool(own & _COUNTED and own & _COUNTS) and not own & (NOT_A_SIZE | {"seen", "batch"})
    return counted or counts_data_set(name)


def _word_score(name: str, role: Role) -> int:
    listed = plain(name) in NAMES[Role.D]
    if role in (Role.D, Role.U) and counts_data_set(name) and not listed and words(name) & _SETS:
        return NAMES[role]["dataset_size"]
    if role is Role.LOSS and held_out(name):
        return 97 if "loss" in words(name) else 94
    telling, score = ROLE_WORDS.get(role, (set(), 0))
    tokens = loss_words(name) if role is Role.LOSS else words(name)
    if not tokens & telling or tokens & NOT_A_SIZE or (role is Role.D and tokens & {"unique", "batch"}):
        return 0
    return score
