"""Tests of tables with several data sets: the question to the user, detection in residuals, one law per data set."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit, fit_groups, groups_to_json, read_fit
from isoplan.engine.fitting.diagnostics.pooling import offsets, strata
from isoplan.engine.mixtures import condition, option, pooled, questions, ways
from isoplan.engine.schema import Runs
from isoplan.engine.store.columns.categories import category_kind
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.fitting.mixtures import DATASETS, category, law, places, shifted, three_datasets, unshifted

QUICK = FitSpec(bootstrap=0)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a CSV file with runs on three data sets, and return its path."""
    path = tmp_path_factory.mktemp("mixtures") / "three.csv"
    path.write_text(three_datasets())
    return path


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    return path


def with_column(tmp_path: Path, name: str, values: list[str], n: int = 60) -> Runs:
    """Simulate ``n`` runs of one law, and add a column ``name``. The column repeats ``values`` to ``n`` rows."""
    random = np.random.default_rng(3)
    N, D = places(n, random, cloud=True)
    frame = pd.DataFrame({"N": N, "D": D, "loss": law(N, D) * np.exp(0.005 * random.normal(size=n))})
    frame[name] = [value for value, _ in zip(itertools.cycle(values), N, strict=False)]
    return read_runs(table(tmp_path, frame.to_csv(index=False)))


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("dataset", ["c4", "pile"], "dataset"),
        ("config.dataset", ["c4", "pile"], "dataset"),
        ("params/trainDataset", ["c4", "pile"], "dataset"),
        ("Data Source", ["c4", "pile"], "dataset"),
        ("corpus", ["c4", "pile"], "dataset"),
        ("experiment", ["a", "b"], "dataset"),
        ("condition", ["raw_loss", "exp_loss"], "dataset"),
        ("split", ["c4", "pile"], "dataset"),
        ("split", ["train", "test"], "split"),
        ("phase", ["Train", "val", "test"], "split"),
        ("outlier", ["false", "true"], "out"),
        ("is_outlier", ["0", "1"], "out"),
        ("excluded", ["no", "yes"], "out"),
        ("best_lr_per_N_D", ["0", "1"], "keep"),
        ("epoch_kept_240", ["0", "1"], "keep"),
        ("drop_last", ["0", "1"], "other"),
        ("dropout", ["0", "1"], "other"),
        ("optimizer", ["adam", "sgd"], "other"),
        ("untrained", ["0", "1"], "out"),
        ("run_diverged", ["false", "true"], "out"),
        ("not_finished", ["0", "1"], "out"),
        ("has_converged", ["0", "1"], "keep"),
        ("is_train", ["0", "1"], "keep"),
        ("flag", ["outlier"], "out"),
        ("flag", ["red", "green"], "other"),
        ("notes", ["ok", "crashed"], "out"),
    ],
)
def test_what_a_column_is_follows_from_its_name_and_values(name: str, values: list[str], kind: str) -> None:
    assert category_kind(name, values) == kind


def test_a_column_of_data_sets_is_asked_about_and_the_fit_says_that_it_pools(three: Path) -> None:
    runs = read_runs(three)
    (asked,) = questions(runs)
    assert (asked.kind, asked.column) == ("dataset", "config.dataset")
    assert asked.counts == {"comma": 85, "dclm": 85, "nemotron": 88}
    (warning,) = [w for w in fit(QUICK, runs).warnings if w.code == "pooled"]
    assert "Column 'config.dataset' has 3 values: comma 85, dclm 85, nemotron 88 runs." in warning.text
    assert "One law is fitted to all runs. Residuals differ: comma \N{MINUS SIGN}" in warning.text
    assert "--group config.dataset --each" in warning.text
    assert "--pool config.dataset" in warning.text


def test_each_answer_silences_the_question(three: Path) -> None:
    def asked(runs: Runs) -> bool:
        return bool(questions(runs)) or any(w.code in ("pooled", "offsets") for w in fit(QUICK, runs).warnings)

    assert asked(read_runs(three))
    assert not asked(read_runs(three, pooled=("config.dataset",)))
    assert not asked(read_runs(three, where="\"config.dataset\" = 'dclm'"))
    apart = read_runs(three, {"group": "config.dataset"}, each=True)
    assert not questions(apart)
    assert not any(w.code in ("pooled", "offsets") for f in fit_groups(QUICK, apart).fits.values() for w in f.warnings)


def test_one_law_each_gives_the_truth_that_the_pooled_law_misses(three: Path) -> None:
    together = fit(QUICK, read_runs(three))
    apart = fit_groups(QUICK, read_runs(three, {"group": "config.dataset"}, each=True))
    assert list(apart.fits) == list(DATASETS)
    for name, (n, truth) in DATASETS.items():
        assert apart.fits[name].n == n
        assert float(apart.fits[name].values["E"]) == pytest.approx(truth["E"], abs=0.03)
    assert (together.objective or 0) > 5 * apart.objective


def test_one_law_each_is_the_fit_of_the_runs_alone_to_the_last_digit_and_survives_its_card(three: Path) -> None:
    spec = FitSpec(bootstrap=30)
    apart = fit_groups(spec, read_runs(three, {"group": "config.dataset"}, each=True))
    alone = fit(spec, read_runs(three, where="\"config.dataset\" = 'dclm'"))
    one = apart.fits["dclm"]
    assert np.array_equal(one.theta, alone.theta)
    assert np.array_equal(one.resamples, alone.resamples)
    assert one.data.group == "dclm"
    assert one.data.roles["group"] == "config.dataset"
    again = read_fit(groups_to_json(apart), "dclm")
    assert np.array_equal(again.resamples, one.resamples)
    assert again.resampling == one.resampling
    assert again.runs is not None
    assert alone.runs is not None
    assert np.array_equal(again.runs.y, alone.runs.y)
    assert again.parameters[0].ci95 == pytest.approx(one.parameters[0].ci95)


def test_a_group_that_cannot_be_fitted_is_named(tmp_path: Path) -> None:
    text = three_datasets().replace("comma", "rare", 3).replace("comma", "dclm")
    with pytest.raises(PlannerError, match="Group rare: chinchilla has 5 free parameters"):
        fit_groups(QUICK, read_runs(table(tmp_path, text), {"group": "config.dataset"}, each=True))


def test_a_column_that_divides_the_runs_as_another_is_asked_about_once(tmp_path: Path) -> None:
    text = three_datasets().replace("config.dataset", "dataset,source")
    for name in DATASETS:
        text = text.replace(f",{name}\n", f",{name},web/{name}\n")
    assert [q.column for q in questions(read_runs(table(tmp_path, text)))] == ["dataset"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dataset", ["c4"]),
        ("dataset", [f"set {i}" for i in range(9)]),
        ("experiment", [f"run {i}" for i in range(60)]),
        ("seed", ["0", "1", "2"]),
        ("optimizer", ["adam", "sgd"]),
    ],
)
def test_what_names_no_data_sets_is_not_asked_about(tmp_path: Path, name: str, values: list[str]) -> None:
    runs = with_column(tmp_path, name, values)
    assert not questions(runs)
    assert not any(w.code in ("pooled", "flagged", "offsets") for w in fit(QUICK, runs).warnings)


def test_names_of_single_runs_are_no_data_sets(tmp_path: Path) -> None:
    assert not questions(with_column(tmp_path, "experiment", ["a", "b", "c", "d"], n=8))


def test_empty_tables_and_one_row_have_no_questions(tmp_path: Path) -> None:
    one = table(tmp_path, "N,D,loss,dataset\n1e6,1e8,3,c4\n")
    assert not questions(read_runs(one))
    assert not questions(read_runs(one, where="loss > 2.9").take(np.zeros(1, bool)))


def test_splits_and_flags_are_asked_about_with_what_acts_on_them(shared: Path) -> None:
    split = questions(read_runs(shared / "runs/scalebench_farseer.csv"))
    assert [(q.kind, q.column, q.keep, q.left_out) for q in split] == [("split", "split", ("train",), 7)]
    assert ways(split[0]) == "--where \"split = 'train'\" or --pool split"
    llama = questions(read_runs(shared / "runs/llama3_isoflop.csv"))
    assert [(q.kind, q.column) for q in llama] == [("dataset", "condition"), ("flag", "outlier")]
    assert llama[0].counts == {"exp_loss": 133, "raw_loss": 133}
    assert (llama[1].left_out, llama[1].only()) == (35, "outlier = false")
    (kept,) = questions(read_runs(shared / "runs/chinchilla_epoch.csv", {"N": "N", "D": "D", "loss": "loss"}))
    assert (kept.left_out, kept.only()) == (5, "epoch_kept_240 = 1")
    assert not questions(read_runs(shared / "runs/kyo_takano_llm.csv"))


def test_the_condition_of_a_question_selects_the_runs_that_it_counts(shared: Path) -> None:
    path = shared / "runs/llama3_isoflop.csv"
    for asked in questions(read_runs(path)):
        for value, n in asked.counts.items():
            assert len(read_runs(path, where=asked.only(value))) == n


def test_conditions_quote_names_and_values() -> None:
    assert condition("dataset", ("it's",)) == "dataset = 'it''s'"
    assert condition("config.data", ("a", "b")) == "\"config.data\" IN ('a', 'b')"
    assert condition("bsz", ("256", ""), "number") == "bsz = 256 OR bsz IS NULL"
    assert [condition(name, ("a",)) for name in ("use", "if")] == ["\"use\" = 'a'", "\"if\" = 'a'"]
    assert option("dataset = 'c4'") == "--where \"dataset = 'c4'\""
    assert option("\"config.data\" = 'a'").startswith("--where '")


def test_copies_are_left_out_once_each_and_groups_with_a_law_each_keep_theirs(tmp_path: Path) -> None:
    rows = three_datasets().splitlines()
    copied = [row.replace("comma", "dclm") for row in rows[1:11]]
    path = table(tmp_path, "\n".join([*rows, *copied]) + "\n")
    assert len(read_runs(path)) == 268
    once = read_runs(path, repeats="once")
    assert len(once) == 258
    assert once.left_out.ids.tolist() == list(range(258, 268))
    assert set(once.left_out.why) == {"that repeat another row exactly"}
    assert len(read_runs(path, {"group": "config.dataset"}, repeats="once", each=True)) == 268


def test_residuals_that_differ_by_another_column_are_found_and_named(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    N, D = places(80, random, cloud=True)
    name = np.array(["adam", "sgd"])[random.permutation(np.arange(80) % 2)]
    loss = law(N, D) * np.exp(0.03 * (name == "sgd") + 0.005 * random.normal(size=80))
    frame = pd.DataFrame({"N": N, "D": D, "loss": loss, "optimizer": name, "host": random.permutation(name)})
    path = table(tmp_path, frame.to_csv(index=False))
    (warning,) = [w for w in fit(QUICK, read_runs(path)).warnings if w.code == "offsets"]
    assert warning.text.startswith("Residuals differ by column 'optimizer': adam \N{MINUS SIGN}1.")
    assert "--group optimizer --each, --where \"optimizer = 'adam'\" or --pool optimizer" in warning.text
    agreed = fit(QUICK, read_runs(path, pooled=("optimizer",))).warnings
    assert not [w for w in agreed if w.code == "offsets"]
    assert set(pooled(read_runs(path))) == {"optimizer", "host"}


def test_labels_without_an_effect_raise_nothing_and_three_percent_is_found() -> None:
    designs = [(n, cloud) for n in (60, 258) for cloud in (True, False)]
    false = [found for seed in range(4) for n, cloud in designs if (found := unshifted(n, seed, cloud))]
    assert not false
    detected = [shifted(n, seed, values, cloud) for seed in range(2) for n, cloud in designs for values in (2, 3)]
    assert sum(detected) >= 0.95 * len(detected)


def test_three_percent_is_found_in_tables_of_36_runs() -> None:
    assert sum(shifted(36, seed, 2, cloud=True) for seed in range(100)) >= 95


def test_the_p_value_is_that_of_permuted_labels() -> None:
    """The p value of a label with a weak effect equals that of a permutation test within strata of similar x and y."""
    random = np.random.default_rng(5)
    x, y = random.uniform(size=(2, 120))
    label = random.integers(0, 3, 120)
    residual = 0.4 * (label == 1) + random.standard_t(5, size=120) + np.sin(6 * x)
    ours = offsets(residual, [x, y], {"a": category(label)})[0].p
    part = strata([x, y])
    order = np.argsort(part, kind="stable")
    drawn = []
    for _ in range(600):
        mixed = np.empty(120, np.int64)
        mixed[order] = label[np.lexsort((random.uniform(size=120), part))]
        drawn.append(offsets(residual, [x, y], {"a": category(mixed)})[0].p)
    assert np.mean(np.array(drawn) <= ours) == pytest.approx(ours, abs=0.05)
    for level in (0.05, 0.3):
        assert np.mean(np.array(drawn) <= level) == pytest.approx(level, abs=0.06)


def test_functions_of_a_size_and_groups_that_do_not_overlap_are_not_tested() -> None:
    N = np.repeat(np.geomspace(1e6, 1e9, 6), 20)
    D = np.tile(np.geomspace(1e8, 1e11, 20), 6)
    residual, axes = np.where(N > 1e7, 0.1, 0.0), [np.log(N), np.log(D)]
    assert not offsets(residual, axes, {"size": category(np.digitize(N, [1e7]))}, [N, D])
    assert not offsets(residual, axes, {"size": category(np.digitize(N * D**1e-9, [1e7]))})


def test_a_million_runs_cost_no_more_than_some_thousand() -> None:
    random = np.random.default_rng(0)
    x, y, residual = random.normal(size=(3, 1_000_000))
    labels = {f"c{i}": category(random.integers(0, 4, 1_000_000)) for i in range(8)}
    assert not any(o.found for o in offsets(residual, [x, y], labels))


def test_numbers_and_blanks_are_values_too(tmp_path: Path) -> None:
    lines = three_datasets().replace("config.dataset", "dataset").replace(",comma\n", ",\n").replace(",dclm\n", ",7\n")
    runs = read_runs(table(tmp_path, lines))
    assert runs.categories["dataset"].counts == {"7": 85, "nemotron": 88, "": 85}
    assert questions(runs)[0].only("") == "dataset IS NULL"
    frame = pd.read_csv(io.StringIO(lines))
    assert frame["dataset"].isna().sum() == 85


def with_sweep(negatives: Sequence[float], at: float = 1e6) -> str:
    """Write 16 runs over N and D with 64 negatives, and one run at N = ``at`` for each value in ``negatives``.

    A larger number of negatives lowers the loss.
    """
    sizes = [(N, D) for N in 10.0 ** np.arange(5, 9) for D in 10.0 ** np.arange(7, 11)]
    rows = [(N, D, 64.0) for N, D in sizes] + [(at, 1e9, k) for k in negatives]
    lines = [
        f"{N:g},{D:g},{k:g},{float(law(np.array([N]), np.array([D]))[0]) * (k / 64) ** -0.02:.6g}" for N, D, k in rows
    ]
    return "\n".join(["N,D,negatives,loss", *lines])


def test_a_sweep_of_another_setting_at_one_size_is_a_question(tmp_path: Path) -> None:
    runs = read_runs(table(tmp_path, with_sweep([8, 16, 32, 128, 256])))
    assert runs.roles.hyper == ("negatives",)
    (question,) = questions(runs)
    assert (question.kind, question.keep, question.left_out) == ("setting", ("64",), 5)
    assert question.text == "5 of 21 runs vary negatives at fixed sizes. The other runs have negatives = 64."
    (warning,) = [w for w in fit(QUICK, runs).warnings if w.code == "flagged"]
    assert "On the Data page, fit only negatives = 64, or keep all" in warning.text
    assert '(--where "negatives = 64" or --pool negatives in the terminal)' in warning.text
    alone = fit(QUICK, read_runs(tmp_path / "runs.csv", where=question.only()))
    size = {"N": np.array([1e7]), "D": np.array([1e9])}
    assert alone.n == 16
    assert float(alone.predict(size)[0]) == pytest.approx(float(law(size["N"], size["D"])[0]), rel=1e-4)


@pytest.mark.parametrize(
    ("negatives", "why"),
    [
        ([], "no sweep"),
        ([128], "one run with another value"),
        ([128] * 6, "repeats of one other value"),
        (list(range(100, 117)), "as many runs in the sweep as outside it"),
    ],
)
def test_other_values_of_a_setting_are_no_sweep(negatives: list[float], why: str, tmp_path: Path) -> None:
    assert questions(read_runs(table(tmp_path, with_sweep(negatives)))) == (), why
