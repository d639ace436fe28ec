"""Names of columns as words, and the words by which a column is known. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

NOT_A_SIZE = frozenset(
    {"per", "ratio", "fraction", "frac", "share", "rate", "log", "log10", "log2", "lg", "ln", "std", "se", "sem"}
    | {"err", "sd", "util", "utilisation", "utilization", "mfu", "peak", "rule", "budget", "init", "initial"}
    | {"scale", "coef"}
)
"""Words of a name that is no size although it names one: tokens_per_second, init_params."""
LARGER = frozenset(
    {"accuracy", "acc", "auc", "auroc", "recall", "ndcg", "mrr", "map", "precision", "f1", "hit", "hits", "hr"}
    | {"rejection", "rej", "bleu", "rouge", "score", "reward", "r2", "purity", "efficiency", "significance"}
)
"""Words of a metric of which larger is better."""
SMALLER = frozenset(
    {"perplexity", "ppl", "mse", "rmse", "mae", "error", "wer", "cer", "fid", "brier", "ece", "excess", "mape"}
    | {"entropy", "loss", "nll", "bpb"}
)
"""Words of a metric of which smaller is better."""
ERRORS = frozenset({"error", "wer", "cer"})
"""Words of a share of wrong answers."""
_TRACKERS = re.compile(r"^(config|summary|params|user_attrs|metrics|tags|hparams)[._/]+(?=.)", re.IGNORECASE)


def plain(name: str) -> str:
    """A name in lower-case words joined by underscores: ``Model Size``, ``modelSize`` and ``model-size`` agree."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", split.lower()).strip("_")


def words(name: str) -> frozenset[str]:
    """The words of a name in lower case."""
    return frozenset(plain(name).split("_"))


def untracked(name: str) -> str:
    """A name without the prefix that trackers add: ``config.params``, ``params_N`` and ``user_attrs_N`` lose it."""
    return _TRACKERS.sub("", name.strip())


def variants(name: str) -> tuple[str, ...]:
    """The names by which a column may be known: without its prefix, and as it stands where "_" may be part of it."""
    bare = untracked(name)
    return (bare, name) if name.strip()[: -len(bare) or None].endswith("_") else (bare,)


SECONDS = frozenset(
    {
        *("seconds", "train_seconds", "training_seconds", "wall_seconds", "walltime_seconds", "elapsed_seconds"),
        *("runtime_seconds", "duration_seconds", "time_seconds", "seconds_train", "seconds_total", "total_seconds"),
        *("time_s", "train_time_s", "training_time_s", "wall_time_s", "walltime_s", "runtime_s", "duration_s"),
        *("elapsed_s", "runtime"),
    }
)
"""Names, as ``plain`` writes them, of columns with the seconds of a run; W&B calls its own ``_runtime``."""


def seconds_column(names: Sequence[str]) -> str:
    """The column of ``names`` that holds the seconds of each run; empty where none does."""
    return next((name for name in names if any(plain(one) in SECONDS for one in variants(name))), "")
