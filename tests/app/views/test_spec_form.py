"""Settings before a fit on the page Fit: laws, typed formulas, fixed values, priors, groups, errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app import bundled
from isoplan.app.views.fits.law_choice import read_known
from isoplan.data.catalogue import AMPLITUDES, BUNDLED, DEMOS, Demo
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit
from isoplan.engine.schema import Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, grid, told
from tests.engine.planning.amplitude.trained import table as cells_of
from tests.engine.planning.amplitude.trained import write


def fitted(at: AppTest, db: Database) -> Fit:
    """Press Fit and return the saved fit."""
    at = next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    return results.fit(db, at.query_params["fit"])


def test_a_box_reads_a_value_a_prior_and_bounds() -> None:
    assert read_known("0.32", "E") == ("fixed", 0.32)
    assert read_known("3e8", "E") == ("fixed", 3e8)
    for text in ("0.34 ± 0.02", "0.34+-0.02", "0.34 +/- 0.02"):
        assert read_known(text, "alpha") == ("prior", (0.34, 0.02))
    assert read_known("0 to 5", "alpha", bounded=True) == ("bounds", (0.0, 5.0))
    assert read_known("0.1 to ", "alpha", bounded=True) == ("bounds", (0.1, None))
    for text in ("a lot", "0 to 5", "± 3", "1 ± "):
        with pytest.raises(PlannerError, match="alpha"):
            read_known(text, "alpha")


def test_held_values_and_priors_reach_the_fit(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, law="chinchilla", refits="30", objective="ols-log")
    at.text_input(key=f"known_{table.id}_chinchilla_E").set_value("1.5")
    at.text_input(key=f"known_{table.id}_chinchilla_alpha").set_value("0.3 ± 0.01").run()
    made = fitted(at, db)
    assert made.spec.fixed == {"E": 1.5}
    assert made.spec.prior == {"alpha": (0.3, 0.01)}
    assert made.values["E"] == 1.5
    assert abs(made.values["alpha"] - 0.3) < 0.03


@pytest.mark.parametrize("one", BUNDLED)
def test_a_bundled_table_opens_with_its_law(one: Demo, demo: Database, open_page: Open) -> None:
    at = open_page("fit", table=tables.by_name(demo, one.name).id)
    assert told(at) == ""
    shown = {box.key: box.value for box in at.selectbox}
    over = (shown["law_choice"], shown.get("axis"))
    assert over in ((one.spec.law, one.spec.axis), (f"{one.spec.law}-{one.spec.axis}", None))


def test_another_bundled_table_brings_its_law(demo: Database, open_page: Open) -> None:
    first, other = (tables.by_name(demo, name).id for name in (DEMOS[0].name, DEMOS[1].name))
    at = open_page("fit", table=first)
    at.selectbox(key="law_choice").set_value("power-N").run()
    at.selectbox(key="table_choice").set_value(other).run()
    assert at.selectbox(key="law_choice").value == DEMOS[1].spec.law
    at.selectbox(key="law_choice").set_value("power-N").run()
    assert at.selectbox(key="law_choice").value == "power-N"


def test_a_bundled_table_with_groups_opens_with_what_they_share(
    db: Database, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = replace(AMPLITUDES[0], roles=Roles(N="N", D="D", loss="loss", group="process", seed="seed", run="run"))
    monkeypatch.setattr(bundled, "BUNDLED", (scan,))
    path = write(tmp_path / "made.csv", cells_of("Zg", 2, 2.0), cells_of("Zgg", 5, 1.3))
    table = tables.add(db, path, scan.name, read_only=True)
    tables.set_roles(db, table.id, scan.roles)
    at = open_page("fit", table=table.id)
    assert at.selectbox(key="law_choice").value == "power-D"
    (shared,) = (one for one in at.multiselect if one.label == "Parameters shared by all groups")
    assert shared.value == ["K"]


def test_a_bundled_table_brings_the_error_of_its_losses_and_takes_it_along(
    demo: Database, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change of the table, settings of the user stay. A link or an opened fit replaces all settings."""

    def said(at: AppTest) -> tuple[str, str, str]:
        boxes = {box.key: box.value for box in (*at.selectbox, *at.text_input)}
        return boxes["objective"], boxes["relative_error"], boxes["interval"]

    first, other = (tables.by_name(demo, name).id for name in (DEMOS[0].name, DEMOS[2].name))
    known = replace(DEMOS[0], spec=AMPLITUDES[1].spec)
    monkeypatch.setattr(bundled, "BUNDLED", (known, DEMOS[2]))
    at = open_page("fit", table=first)
    assert said(at) == ("ols-log", "0.1", "profile")
    at.selectbox(key="table_choice").set_value(other).run()
    assert said(at) == ("huber-log", "", "auto")
    at.selectbox(key="objective").set_value("lad").run()
    at.selectbox(key="table_choice").set_value(first).run()
    assert said(at) == ("lad", "0.1", "profile")
    at = open_page("fit", table=first)
    for name, value in {"table": other, "objective": "ols-log", "relative_error": "0.1"}.items():
        at.query_params[name] = value
    assert said(at.run())[:2] == ("ols-log", "0.1"), "what a link says is no leaving of the table before"
    assert said(open_page("fit", table=first, relative_error="5%", objective="huber-log")) == (
        "huber-log", "5%", "profile",
    )  # fmt: skip


def test_a_word_in_a_box_is_one_sentence(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, law="chinchilla")
    at.text_input(key=f"known_{table.id}_chinchilla_E").set_value("small").run()
    assert "value of E" in told(at)
    assert not [b for b in at.button if b.label == "Fit law"]


def test_a_typed_formula_is_fitted_and_opens_every_part(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, law="formula", refits="20", objective="ols-log")
    at.text_input(key="formula").set_value("E + A*N^(-a) + B*D^(-b)").run()
    at.text_input(key=f"known_{table.id}_formula_a").set_value("0 to 2").run()
    made = fitted(at, db)
    assert made.spec.formula == "E + A*N^(-a) + B*D^(-b)"
    assert made.spec.bounds == {"a": (0.0, 2.0)}
    assert made.values["E"] == pytest.approx(1.5, abs=0.05)
    for part in ("Runs and law", "Residuals", "Correlations", "Another fit"):
        assert told(open_page("fit", fit=made.hash, part=part)) == ""


def test_a_formula_that_cannot_be_read_is_one_sentence(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    for text, words in {
        "E + A*": "",
        "__import__('os')": "",
        "3*N": "has no parameter",
        "a + b": "uses no column",
    }.items():
        at = open_page("fit", table=table.id, law="formula", formula=text)
        assert words in told(at)
        assert len(at.error) == 1


def test_groups_that_share_parameters_get_a_fit_each(db: Database, open_page: Open) -> None:
    lines = [line.decode() for line in grid().splitlines()]
    content = "\n".join([f"{lines[0]},group", *(f"{line},{'a' if i % 2 else 'b'}" for i, line in enumerate(lines[1:]))])
    table = tables.add(db, content.encode(), "groups.csv")
    assert tables.roles(db, table.id).group == "group"
    at = open_page("fit", table=table.id, law="chinchilla", refits="20", objective="ols-log")
    at.multiselect(key=f"share_{table.id}_chinchilla").set_value(["alpha", "beta"]).run()
    made = fitted(at, db)
    assert made.spec.share == ("alpha", "beta")
    assert {results.fit(db, f.hash).data.group for f in results.fits(db)} == {"a", "b"}
    one, other = (results.fit(db, f.hash) for f in results.fits(db))
    assert one.values["alpha"] == other.values["alpha"]
    assert one.values["E"] != other.values["E"]
    assert "to the last digit" in results.rebuild(db, made.hash)
    for part in ("Residuals", "Runs and law"):
        assert told(open_page("fit", fit=made.hash, part=part)) == ""


def test_stated_errors_and_the_weight_below_the_law(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, law="chinchilla", refits="0", objective="ols-log", relative_error="10%")
    assert fitted(at, db).spec.relative_error == pytest.approx(0.1)
    at = open_page("fit", table=table.id, law="chinchilla", refits="0", objective="asymmetric", skew="5")
    assert fitted(at, db).spec.skew == 5


def test_a_law_over_a_column_asks_which(db: Database, open_page: Open) -> None:
    x = [0.01 * 2**i for i in range(8)] * 3
    rows = "\n".join(f"{v:.4g},{2 + 0.4 * v**0.8 + 0.02 * v**-0.5 + 0.0003 * (i % 5):.6f},{i}" for i, v in enumerate(x))
    table = tables.add(db, f"share,loss,other\n0,3.1,7\n{rows}".encode(), "sweep.csv")
    roles = tables.roles(db, table.id)
    tables.set_roles(db, table.id, roles.model_copy(update={"hyper": ("share", "other")}))
    at = open_page("fit", table=table.id, law="starvation", axis="share", refits="30", objective="ols-log")
    assert told(at) == ""
    assert at.selectbox(key="axis").options == ["share", "other"]
    at.number_input(key="realised").set_value(0.004).run()
    made = fitted(at, db)
    assert (made.spec.axis, made.spec.realised, made.n) == ("share", 0.004, 25)
    assert "The best share is" in " ".join(str(c.value) for c in open_page("fit", fit=made.hash).markdown)
    for part in ("Runs and law", "Residuals", "Correlations"):
        assert told(open_page("fit", fit=made.hash, part=part)) == ""


def test_a_law_without_its_column_says_what_it_lacks(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, law="critical-batch")
    assert told(at) == ""
    assert "no column of the role hyperparameter is mapped" in " ".join(str(i.value) for i in at.info)


def test_a_formula_says_what_its_names_are(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, law="formula", formula="E + A/N^alpha")
    shown = [str(c.value) for c in at.caption if "Column" in str(c.value)]
    assert any("Column N; parameters E, A, alpha." in text and r"\frac{A}{N^{\alpha}}" in text for text in shown)


def test_explore_draws_what_a_formula_reads(db: Database, open_page: Open) -> None:
    rows = grid().decode().splitlines()
    lines = [rows[0] + ",epochs", *(f"{row},{1 + i % 4}" for i, row in enumerate(rows[1:]))]
    table = tables.add(db, "\n".join(lines).encode(), "grid.csv")
    views = {
        "E + A/N^a": ["Axis"],
        "E + A/N^a + B/D^b": ["Surface", "Iso-FLOP", "Frontier"],
        "E + A/N^a + c*epochs": [],
    }
    for text, expected in views.items():
        at = open_page("fit", table=table.id, law="formula", formula=text, refits="20", objective="ols-log")
        made = fitted(at, db)
        at = open_page("explore", fit=made.hash)
        assert told(at) == ""
        assert [list(c.options) for c in at.button_group if c.key == "figure"] == ([expected] if expected else [])
        assert told(open_page("plan", fit=made.hash)) == ""


def test_no_law_is_missed_before_one_is_asked_for(demo: Database, open_page: Open) -> None:
    at = open_page("fit", table=tables.by_name(demo, DEMOS[0].name).id)
    assert not [i for i in at.info if "cannot be fitted to this table" in str(i.value)]
