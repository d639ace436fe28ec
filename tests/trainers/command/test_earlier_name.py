"""Program descriptions with the old name of the bundled example. Isoplan 0.1 used this name."""

from __future__ import annotations

from pathlib import Path

from isoplan.trainers.command.programs import Program, families

EARLIER = ".".join(("trainers", "command", "example"))


def test_the_earlier_name_of_the_example_still_runs() -> None:
    program = Program.model_validate({"command": ["{python}", "-P", "-m", EARLIER]})
    assert program.command == ("{python}", "-P", "-m", "isoplan.trainers.command.example")


def test_cells_of_the_example_keep_their_names(tmp_path: Path) -> None:
    """The names of cells depend on ``version`` of the example. In Isoplan 0.1, the version was ``f90268b8c069``."""
    (example,) = families(tmp_path)
    assert example.version == "f90268b8c069"
