"""Roles suggested from column names and values: common names, columns that fit one role, and published tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import NUMERIC_ROLES, SINGLE_ROLES, Metric, Role, Roles
from isoplan.engine.store.columns.column import Column, Conversion, Kind
from isoplan.engine.store.columns.derive import proposals, read_derived
from isoplan.engine.store.columns.guess import better, guess_roles, with_guesses
from isoplan.engine.store.columns.mapping import check_roles, unique_or_seen, uses
from isoplan.engine.store.columns.names import plain
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.tables import tables


def numbers(*names: str, top: float = 1e9, whole: bool = True) -> list[Column]:
    return [Column(n, "number", minimum=1, maximum=top, whole=whole, distinct=50) for n in names]


NAMES = {
    Role.N: ["N", "n", "params", "n_params", "num_params", "Model Size", "modelSize", "model-size", "parameters",
             "non_embedding_param_size", "non_vocab_parameters", "Trainable Parameters", "PARAMS"],
    Role.D: ["D", "d", "tokens", "train_tokens", "data_size", "samples_seen", "num_characters", "n_jets",
             "Training Samples", "tokensSeen"],
    Role.U: ["U", "unique_tokens", "n_unique", "unique samples", "unique_jets"],
    Role.C: ["C", "c", "flops", "Training FLOP", "train_flops", "compute", "total_flops", "training compute [FLOPs]"],
    Role.LOSS: ["loss", "val_loss", "loss_validation", "Validation Loss", "lm_loss", "unigram_normalized_loss",
                "test_loss", "eval_loss", "train_loss", "valLoss", "val_ce", "test_ce", "jet_ce", "bce", "val_bce",
                "xent", "test_nll", "cross_entropy", "val_cross_entropy", "Cross-Entropy", "logloss"],
    Role.EPOCHS: ["epochs", "n_epochs", "num_epochs"],
    Role.BUDGET: ["budget", "compute_budget", "iso_C", "Budget (FLOPs)"],
    Role.SEED: ["seed", "random_seed"],
    Role.GROUP: ["group", "family", "optimizer", "architecture", "condition"],
    Role.RUN: ["run", "run_name", "run id", "name"],
    Role.WEIGHT: ["weight", "weights", "fit_weight"],
}  # fmt: skip


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMES.items() for name in names])
def test_usual_names_give_their_role(role: Role, name: str) -> None:
    kind: Kind = "text" if role in (Role.GROUP, Role.RUN) else "number"
    top = None if kind == "text" else 1e9
    column = Column(name, kind, minimum=top and 1, maximum=top, distinct=5)
    assert with_guesses([column])[0].guess is role
    assert guess_roles([column]).column(role) == name


@pytest.mark.parametrize(
    "name",
    ["tokens_per_param", "token_param_ratio", "log_params", "param_ratio", "flops_per_token", "mfu", "x", "step_time",
     "init_loss", "loss_std", "peak_flops", "epoch_kept_240", "notes"],
)  # fmt: skip
def test_names_that_only_look_like_a_size_have_none(name: str) -> None:
    guessed = with_guesses(numbers(name))[0].guess
    assert guessed not in (*NUMERIC_ROLES, Role.METRIC)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n", "N"], {"N": "N"}),
        (["params", "N"], {"N": "N"}),
        (["val_loss", "loss"], {"loss": "loss"}),
        (["train_loss", "val_loss"], {"loss": "val_loss"}),
        (["val_ce", "val_loss"], {"loss": "val_loss"}),
        (["train_ce", "val_ce", "bkg_rej_top"], {"loss": "val_ce"}),
        (["dataset_size"], {"D": "dataset_size"}),
        (["dataset_size", "tokens"], {"D": "tokens", "U": "dataset_size"}),
        (["unique_tokens", "tokens"], {"D": "tokens", "U": "unique_tokens"}),
        (["budget", "flops"], {"budget": "budget", "C": "flops"}),
        (["non_embedding_params", "params"], {"N": "params"}),
        (["params", "params_total", "total_params"], {"N": "params"}),
        (["params_total", "tokens"], {"N": "params_total", "D": "tokens"}),
        (["params_N", "params_D", "params_lr"], {"N": "params_N", "D": "params_D"}),
        (
            ["params.batch_size", "params.n_params", "metrics.val_loss"],
            {"N": "params.n_params", "loss": "metrics.val_loss"},
        ),
        (
            ["config/params", "config/tokens", "summary/loss"],
            {"N": "config/params", "D": "config/tokens", "loss": "summary/loss"},
        ),
    ],
)
def test_the_better_name_wins(names: list[str], expected: dict[str, str]) -> None:
    roles = guess_roles(numbers(*names))
    assert {role.value: name for role, name in uses(roles) if role in SINGLE_ROLES} == expected


@pytest.mark.parametrize(
    ("name", "top", "formula"),
    [("acc_top", 0.9, "1 - acc_top"), ("acc_top", 90.0, "1 - acc_top / 100"), ("bkg_rej_top", 334.4, "")],
)
def test_one_minus_a_column_is_proposed_only_for_a_share(name: str, top: float, formula: str) -> None:
    columns = with_guesses([Column(name, "number", minimum=0.1, maximum=top, distinct=50)])
    assert proposals(columns, guess_roles(columns)).get("loss", "") == formula


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (["n_params", "n_train_jets"], "n_train_jets"),
        (["N", "dataset_size"], "dataset_size"),
        (["N", "n_jets"], "n_jets"),
        (["N", "train_size"], "train_size"),
        (["N", "samples_seen"], ""),
        (["N", "train_tokens"], ""),
        (["N", "n_train_jets", "epochs"], ""),
        (["N", "n_jets", "unique_jets"], ""),
        (["N", "n_jets", "flops"], ""),
    ],
)
def test_a_column_that_may_count_unique_samples_is_asked_about(names: list[str], asked: str) -> None:
    columns = with_guesses(numbers(*names))
    assert unique_or_seen(columns, guess_roles(columns)) == asked


def test_sizes_below_one_and_text_are_no_sizes() -> None:
    assert guess_roles(numbers("params", top=0.5, whole=False)).N is None
    assert guess_roles([Column("params", "text", distinct=9)]).N is None
    proposed = Column("params", "text", conversion=Conversion("suffix", 3, 0), distinct=9)
    assert with_guesses([proposed])[0].guess is Role.N
    assert "convert its text" in with_guesses([proposed])[0].why
    assert guess_roles([proposed]) == Roles()
    assert guess_roles([proposed], agreed=["params"]) == Roles(N="params", conversions={"params": "suffix"})


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("pf_days", Role.C),
        ("gpu_hours", Role.C),
        ("x (1e18)", Role.UNUSED),
        ("log10_x", Role.UNUSED),
        ("ln_x", Role.UNUSED),
        ("x_millions", Role.UNUSED),
        ("log10_params", Role.N),
        ("flops (1e18)", Role.C),
    ],
)
def test_only_a_unit_of_compute_gives_a_role_without_a_name(name: str, role: Role) -> None:
    assert with_guesses(numbers(name, top=20.0, whole=False))[0].guess is role


def test_numbers_are_a_group_only_if_they_have_few_values() -> None:
    groups = [replace(numbers("group")[0], distinct=distinct) for distinct in (1, 2, 20, 21)]
    assert [guess_roles([column]).group for column in groups] == ["group", "group", "group", None]
    assert guess_roles([replace(groups[3], kind="text", minimum=None, maximum=None)]).group == "group"


@pytest.mark.parametrize(
    ("names", "formula"),
    [
        (["steps", "batch_size"], "steps * batch_size"),
        (["steps", "batch_size", "seq_len"], "steps * batch_size * seq_len"),
        (["max_steps", "tokens_per_step", "batch_size"], "max_steps * tokens_per_step"),
        (["epochs", "dataset_size", "steps", "batch_size"], "epochs * dataset_size"),
        (["epochs", "unique_tokens"], "epochs * unique_tokens"),
        (["epochs", "samples"], "epochs * samples"),
        (["steps"], None),
        (["epochs"], None),
        (["tokens", "steps", "batch_size"], None),
    ],
)
def test_samples_are_proposed_as_a_product(names: list[str], formula: str | None) -> None:
    columns = with_guesses(numbers("N", *names))
    assert proposals(columns, guess_roles(columns)).get("D") == formula


def test_formulas_are_read_once_for_each_role() -> None:
    assert read_derived(["D = a * b", "loss=1 - acc"]) == {"D": "a * b", "loss": "1 - acc"}
    with pytest.raises(PlannerError, match=r"^--derive gives 'D' twice\. Keep one formula\.$"):
        read_derived(["D = a", "D = b"])
    for text in ("D", "= a", "D ="):
        with pytest.raises(PlannerError, match=r"^--derive cannot read .* Write ROLE = FORMULA"):
            read_derived([text])


def test_metrics_have_the_direction_that_is_better() -> None:
    names = ["accuracy", "recall@10", "NDCG@10", "mrr", "auc", "rejection_top", "perplexity", "mse", "val_ppl", "WER"]
    roles = guess_roles(numbers(*names))
    assert [m.direction for m in roles.metrics] == ["max"] * 6 + ["min"] * 4
    assert [m.column for m in roles.metrics] == names
    assert better("R_top") == "max"


def test_rejections_are_metrics_by_their_symbol() -> None:
    roles = guess_roles(numbers("N", "D", "R_top", "R_Hbb", "r_top", "Rtop"))
    assert [(m.column, m.direction) for m in roles.metrics] == [("R_top", "max"), ("R_Hbb", "max")]
    small = replace(numbers("R_top")[0], minimum=0.2)
    assert guess_roles([small]).metrics == ()


def test_hyperparameters_are_found() -> None:
    names = ("lr", "learning_rate", "bsz", "batch_size", "width", "n_layers", "weight_decay", "steps")
    assert guess_roles(numbers(*names)).hyper == names


def test_names_are_compared_as_words() -> None:
    assert plain(" Model-Size ") == plain("modelSize") == plain("MODEL_SIZE") == "model_size"


@given(
    st.lists(
        st.sampled_from([n for names in NAMES.values() for n in names] + ["x", "lr", "auc"]), unique=True, max_size=20
    ),
    st.sampled_from(["number", "text", "bool", "date"]),
)
def test_a_guess_is_always_a_valid_mapping(names: list[str], kind: Kind) -> None:
    top = 1e9 if kind == "number" else None
    columns = [Column(n, kind, minimum=top and 1, maximum=top, distinct=4) for n in names]
    check_roles(columns, guess_roles(columns))


PUBLISHED = {
    "chinchilla_epoch.csv": Roles(N="N", D="D", C="C", loss="loss"),
    "kyo_takano_llm.csv": Roles(N="N", D="D", C="C", loss="loss"),
    "llama3_isoflop.csv": Roles(N="N", D="D", C="C", loss="loss", budget="budget", group="condition", run="experiment"),
    "scalebench_data_constrained.csv": Roles(
        N="N", D="D", U="U", C="C", loss="loss", epochs="epochs", group="group", run="row"
    ),
    "scalebench_farseer.csv": Roles(N="N", D="D", C="C", loss="loss", group="group", run="row"),
    "scalebench_lr_bsz.csv": Roles(
        N="N", D="D", C="C", loss="loss", group="group", run="row", hyper=("lr", "bsz"),
        metrics=(Metric(column="lm_loss", direction="min"),),
    ),
    "scalebench_vocab.csv": Roles(
        N="N", D="D", loss="loss", group="group", run="row", hyper=("vocab_size",),
        metrics=(Metric(column="unigram_normalized_loss", direction="min"),),
    ),
    "teacher_student_sweep.csv": Roles(
        N="N", D="D", C="C", loss="loss", budget="iso_C", seed="seed",
        hyper=("width", "n_hidden", "batch_size", "lr", "steps"),
        metrics=(Metric(column="val_loss", direction="min"),),
    ),
    "teacher_student_double_descent_epochs.csv": Roles(
        D="D", seed="seed", hyper=("step",), metrics=(Metric(column="excess", direction="min"),)
    ),
}  # fmt: skip

# Roles of published tables by the original column names, without the added columns N, D, C, U and loss.
ORIGINAL = {
    "chinchilla_epoch.csv": {"N": "Model Size", "C": "Training FLOP", "loss": "loss"},
    "llama3_isoflop.csv": {"N": "params", "D": "tokens", "budget": "budget", "loss": "loss"},
    "scalebench_data_constrained.csv": {"N": "params", "D": "tokens", "U": "unique_tokens", "epochs": "epochs"},
    "scalebench_lr_bsz.csv": {"N": "non_embedding_param_size", "D": "data_size", "loss": "lm_loss"},
    "scalebench_vocab.csv": {"N": "non_vocab_parameters", "D": "num_characters", "loss": "unigram_normalized_loss"},
    "teacher_student_sweep.csv": {"loss": "val_loss", "budget": "iso_C", "seed": "seed"},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tables_are_guessed_right(shared: Path, name: str) -> None:
    with memory() as db:
        info = tables.add(db, shared / "runs" / name, name)
        assert tables.roles(db, info.id) == PUBLISHED[name]


@pytest.mark.parametrize("name", ORIGINAL)
def test_published_tables_are_guessed_right_by_their_own_names(shared: Path, name: str) -> None:
    with memory() as db:
        info = tables.add(db, shared / "runs" / name, name)
        expected = ORIGINAL[name]
        added = {"N", "D", "C", "U", "loss"} - set(expected.values())
        roles = guess_roles([c for c in tables.columns(db, info.id) if c.name not in added])
    assert {role: roles.column(Role(role)) for role in expected} == expected
