"""The page Precision shows the results of the Python API, for a published law and for uploaded runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.app import amplitude_cells
from isoplan.app.figures.amplitudes import exponents as exponents_figure
from isoplan.app.figures.style.theme import PAPER, WEB
from isoplan.app.views.widgets.parts import escape_markdown, powers, whole
from isoplan.data.amplitudes import best_laws, published_exponents, published_law, trained_cells
from isoplan.engine.planning.amplitude.cell_laws import data_law, exponents
from isoplan.engine.planning.amplitude.cells import most_anchors, read_cells, spread_of_process
from isoplan.engine.planning.amplitude.evidence import Anchor
from isoplan.engine.planning.amplitude.precision import of_error, of_mse
from isoplan.engine.planning.amplitude.reply import sentence, span
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted
from isoplan.engine.planning.amplitude.trained import plan_trained
from isoplan.engine.quantities import count
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from tests.app.figures.conftest import texts, traces
from tests.app.views.conftest import Open, said, told
from tests.app.views.recommender_page import answer, lines
from tests.engine.planning.amplitude.trained import table as cells_of
from tests.engine.planning.amplitude.trained import write

RUN = {"scale": "a run of mine", "x1": "1e4", "loss1": "1e-3", "N1": "1e5", "epochs1": "1000", "doubled1": "3 %"}
ANCHOR = Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3, doubled=0.03)


def test_the_page_opens_with_a_published_law(db: Database, open_page: Open) -> None:
    at = open_page("amplitude")
    assert told(at) == ""
    spread = spread_of_process(trained_cells(), "Zggg")
    expected = plan_amplitude(4, of_mse(1e-6, spread), (), published_law("Zggg"), best_laws())
    assert answer(at) == powers(sentence(expected))
    found = {row[0]: row[1] for row in lines(at)}
    assert found["Training points D"] == f"{span(expected.D)} phase-space points"
    assert found["Compute C"] == "not known"


def test_a_run_of_mine_and_a_relative_error(db: Database, open_page: Open) -> None:
    at = open_page("amplitude", n_f="5", stated="a typical relative error of", reach="0.1 %", sigma="1.5", **RUN)
    assert told(at).startswith("The plan lies too far beyond the anchor to be an answer: D by ")
    expected = plan_amplitude(5, of_error(0.001, 1.5), [ANCHOR], None, best_laws())
    assert answer(at) == powers(sentence(expected))
    assert "two runs measure the exponent, which then replaces the bound" in answer(at)
    assert not any(line[1].startswith("phase") for line in lines(at))
    second = open_page("amplitude", n_f="5", anchors="2", x2="1e5", loss2="3e-4", doubled2="2 %", reach="5e-5", **RUN)
    both = plan_fitted("", 5, of_mse(5e-5), [ANCHOR, Anchor("D", 1e5, 3e-4, doubled=0.02)], best_laws())
    assert "The law fitted to 2 anchors, with the exponent 0.523" in both.change
    assert answer(second) == powers(sentence(both))
    assert escape_markdown(powers(whole(both.change))) in [m.value for m in second.markdown]


def test_the_page_says_whether_the_energy_varies(db: Database, open_page: Open) -> None:
    for fixed, d, energy in (("false", "5", "varies: d = 3 n_f - 4"), ("true", "4", "is fixed: d = 3 n_f - 5")):
        at = open_page("amplitude", n_f="3", fixed=fixed, **RUN)
        (row,) = (row for row in lines(at) if row[0] == "Dimension d of the phase space")
        assert row[1] == d
        assert row[2].startswith(f"sqrt(s) {energy} with n_f = 3; the bound 4/d is")


def test_raw_targets_and_a_failing_bound_are_flagged(db: Database, open_page: Open) -> None:
    assert "trained on raw amplitudes" in said(open_page("amplitude", n_f="3", process="ttH", reach="1e-4"))
    assert "does not hold for two particles" in said(open_page("amplitude", n_f="2"))


def test_without_a_published_law_or_a_run_the_page_asks_for_one(db: Database, open_page: Open) -> None:
    at = open_page("amplitude", n_f="7")
    assert told(at) == ""
    assert "Train one small network" in said(at)
    assert not at.header


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"reach": "soon"}, "The target MSE 'soon' cannot be read as a number"),
        ({"reach": "0"}, "The target MSE is 0"),
        (
            {"reach": "50"},
            "is too large, because a constant prediction of the standardised log amplitude has an MSE "
            "of 1. Give a smaller target.",
        ),
        (
            {"n_f": "5", "stated": "a typical relative error of", "reach": "0.1%"},
            "give the standard deviation of log A",
        ),
        ({"scale": "a run of mine", "x1": "1e4", "loss1": "2", "floor": "1"}, "is below the floor 1"),
        (
            {"n_f": "3", "process": "ttH", "stated": "a typical relative error of", "reach": "0.1%", "sigma": "1"},
            "The law of ttH describes raw amplitudes",
        ),
        (RUN | {"x1": "10"}, "is below the onset of the power law"),
        (RUN | {"doubled1": "30 %"}, "is not limited by D"),
        (RUN | {"N1": "big"}, "The N of run 1 'big' cannot be read as a number"),
    ],
)
def test_bad_input_is_one_sentence(db: Database, open_page: Open, query: dict[str, str], why: str) -> None:
    assert why in told(open_page("amplitude", **query))


def test_a_target_that_the_run_reaches_has_only_an_upper_end(db: Database, open_page: Open) -> None:
    at = open_page("amplitude", n_f="4", reach="0.01", **RUN)
    assert "needs at most 10 k phase-space points" in answer(at)
    assert "D = 10 k reaches the target. A smaller D may also reach the target." in [one.value for one in at.caption]


def test_the_picture_runs_from_the_anchor_to_both_ends_of_the_range() -> None:
    plan = plan_amplitude(5, of_error(0.02, 1.5), [ANCHOR], None, best_laws())
    (need,) = plan.needs
    for drawing in (
        exponents_figure.draw_need(need, plan.target),
        exponents_figure.draw_need(need, plan.target, PAPER),
    ):
        (end,) = traces(drawing, name="target")
        assert list(end.y) == [need.least, need.most]
        assert list(end.x) == [plan.target.mse] * 2
        assert "RMS relative error 2 %" in texts(drawing)
        assert drawing.figure.layout.xaxis.range[0] > drawing.figure.layout.xaxis.range[1]
        assert drawing.figure.layout.xaxis.title.text == "MSE of the standardised log amplitude"
    assert f"{count(need.most)} phase-space points" in drawing.alt
    assert len(drawing.data) == len(need.x)


def test_the_picture_of_a_raw_law_names_the_raw_amplitude() -> None:
    plan = plan_amplitude(3, of_mse(1e-5), (), published_law("ttH"))
    for theme in (PAPER, WEB):
        drawing = exponents_figure.draw_need(plan.needs[0], plan.target, theme)
        assert drawing.figure.layout.xaxis.title.text == "MSE of the raw amplitude"


def test_the_law_of_trained_cells_replaces_the_bound(
    db: Database, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amplitude_cells, "trained_cells", lambda: ())
    assert "trained cells" not in open_page("amplitude", n_f="3").selectbox("scale_choice").options
    table = tables.add(db, write(tmp_path / "mine.csv", cells_of(noise=0.05), cells_of("WWZ", alpha=1.2)), "mine.csv")
    at = open_page("amplitude", n_f="3", scale="trained cells", cells="Zgg")
    assert told(at) == ""
    cells = read_cells(tables.frame(db, table.id).to_dict("records"), "mine.csv")
    found = most_anchors(cells, "Zgg")
    expected = plan_trained(3, of_mse(1e-6, 1.5), found, best_laws())
    assert answer(at) == powers(sentence(expected))
    change = "gives a D too far beyond the runs. The law fitted to 12 cells of Zgg"
    assert any(change in str(m.value) for m in at.markdown)
    error = open_page(
        "amplitude", n_f="3", scale="trained cells", cells="Zgg", stated="a typical relative error of", reach="0.1 %"
    )
    assert answer(error) == powers(sentence(plan_trained(3, of_error(0.001, 1.5), found, best_laws())))
    other = open_page("amplitude", n_f="3", scale="trained cells", cells="WWZ")
    assert answer(other) != answer(at)


def test_bundled_scans_of_other_axes_are_no_cells_of_the_law_of_points(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amplitude_cells, "trained_cells", lambda: ())
    tables.add(db, write(tmp_path / "compute.csv", cells_of("Zg", 2, 2.0)), "compute", read_only=True)
    tables.add(db, write(tmp_path / "mine.csv", cells_of()), "mine")
    assert {cell.process for cell in amplitude_cells.of_workspace(db)} == {"Zgg"}


def test_our_laws_stand_first_in_the_table_beside_those_of_the_paper(
    db: Database, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amplitude_cells, "trained_cells", lambda: ())
    (bare,) = (one.value for one in open_page("amplitude").dataframe)
    tables.add(db, write(tmp_path / "mine.csv", cells_of(noise=0.05), cells_of("ttH", alpha=1.7)), "mine.csv")
    at = open_page("amplitude")
    assert told(at) == ""
    (found,) = (one.value for one in at.dataframe)
    assert len(found) == 81 + 1
    first, second = found.to_dict("records")[:2]
    assert (first["Process"], first["X"], first["Held"], first["Table"]) == ("Zgg", "D", "N = 1e5", "6")
    assert first["α, paper"] == published_law("Zgg", held="N = 1e5").alpha
    assert first["α, trained, from"] < first["α, trained"] < first["α, trained, to"]
    assert first["α, trained"] == pytest.approx(1.3, abs=0.05)
    cells = read_cells(cells_of(noise=0.05).to_dict("records"), "t")
    law = data_law(most_anchors(cells, "Zgg"))
    assert law is not None
    for name in ("X_c", "K"):
        assert (first[f"{name}, trained, from"], first[f"{name}, trained, to"]) == pytest.approx(
            law.interval(name), rel=1e-3
        )
    assert first["X_c, trained, from"] < 10 < first["X_c, trained, to"]
    assert first["K, trained, from"] == 0 <= first["K, trained"] < first["K, trained, to"]
    assert (second["Process"], second["Table"], second["Held"]) == ("ttH", "", "N = 100 k")
    assert len(bare) == 81
    assert not [name for name in map(str, bare) if "ours" in name]


def test_exponents_stand_beside_the_bound_and_the_published_ones() -> None:
    ours = exponents(read_cells(cells_of(noise=0.1).to_dict("records"), "t"))
    for theme in (PAPER, WEB):
        drawing = exponents_figure.draw_exponents(published_exponents(), ours, theme)
        (line,) = traces(drawing, name="bound 4/d")
        assert list(np.asarray(line.y) * np.asarray(line.x)) == pytest.approx([4.0] * 80)
        (mine,) = traces(drawing, name="trained")
        assert mine.y[0] == pytest.approx(1.3, abs=0.05)
        assert mine.error_y.array[0] == pytest.approx(ours[0].ends[1] - ours[0].alpha)
        (theirs,) = traces(drawing, name="published")
        assert sorted(theirs.y) == sorted(one.alpha for one in published_exponents())
    assert "Processes below the line: WZ." in drawing.alt
    assert len(drawing.data) == len(published_exponents()) + 1


def test_an_rms_error_uses_the_spread_of_the_process(open_page: Open) -> None:
    at = open_page("amplitude", n_f="4", process="Zggg", stated="an RMS relative error of", reach="1%")
    assert told(at) == ""
    assert answer(at).startswith(
        powers("An MSE of 2.12e-05 (RMS relative error 1 %) for 4 final-state particles needs")
    )


def test_the_precision_of_a_number_of_points_is_answered(open_page: Open) -> None:
    at = open_page("amplitude", n_f="4", process="Zggg", stated="the precision reached by", points="1e5")
    assert told(at) == ""
    assert "points of 4 final-state particles reach an MSE of 0.00013 (RMS relative error 2.5" in answer(at)


def test_every_process_is_listed_and_a_choice_sets_the_particles(open_page: Open) -> None:
    at = open_page("amplitude", n_f="4", reach="1e-4")
    names = at.selectbox(key="process_choice").options
    assert names[0] == "WZ (2 particles)"
    assert {"ttH (3 particles)", "Zggg (4 particles)", "Zgggg (5 particles)"} < set(names)
    at.selectbox(key="process_choice").select("ttH (3 particles)").run()
    assert told(at) == ""
    assert at.number_input(key="n_f").value == 3
    at.number_input(key="n_f").set_value(4).run()
    assert at.selectbox(key="process_choice").value == "Zggg"
