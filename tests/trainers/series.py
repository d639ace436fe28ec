"""A minimal family of training runs: a sum whose loss after D terms is E + N^-ALPHA + D^-BETA."""

import json
from pathlib import Path

from pydantic import Field

from isoplan.trainers.cell import Cell, Family, Preset, RunContext, Sizes

E, ALPHA, BETA = 1.0, 0.5, 0.4


class Series(Cell):
    """A sum with a size N and a number of terms D."""

    size: int = Field(16, ge=1, title="Size", description="N of the law.")
    terms: int = Field(64, ge=1, title="Terms", description="Terms that are added: D of the law.")

    def sizes(self) -> Sizes:
        return Sizes(N=self.size, D=self.terms, C=6.0 * self.size * self.terms)


def train(cell: Series, stream: RunContext) -> dict[str, float]:
    """Add the terms, starting from the checkpoint if one exists, and return the loss."""
    done, rest = json.loads(stream.resume.read_text()) if stream.resume else (1, 1.0)

    def write(place: Path) -> None:
        place.write_text(json.dumps([done, rest]))

    while done < cell.terms:
        done, rest = done + 1, rest - (done**-BETA - (done + 1) ** -BETA)
        if stream.checkpoint_due:
            stream.save(write)
        stream.step(done, cell.terms, loss=E + cell.size**-ALPHA + rest)
    return {"loss": E + cell.size**-ALPHA + rest}


def families(root: Path) -> tuple[Family[Series], ...]:
    example = Preset({"size": "4..256 x 4", "terms": "8..512 x 4"}, "16 cells of less than a second each")
    return (Family("series", "Sum of a series", Series, train, Series.sizes, presets={"example": example}),)
