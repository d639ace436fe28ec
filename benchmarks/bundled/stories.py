"""Script that writes the fits of the stories: ``python -m benchmarks.bundled.stories``.

A story of the app loads these fits, which saves visitors the time of 400 refits. A test repeats the fits.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from isoplan.app.bundled import load_bundled
from isoplan.data.stories import DOMAINS, Domain
from isoplan.engine.fitting import fit, to_json
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.tables import snapshots, tables

FOLDER = Path(__file__).parents[2] / "data" / "fits"


def make_fits(db: Database, domain: Domain) -> list[dict[str, Any]]:
    """Fit the law (and the metric map, if any) of a story to the bundled table. Return the fits as JSON objects."""
    table = tables.by_name(db, domain.demo.name)
    snapshot = snapshots.take(db, table.id, filter=snapshots.Filter(where=domain.where))
    runs = snapshots.runs(db, snapshot)
    specs = [domain.spec, *([domain.map_spec] if domain.map_spec is not None else [])]
    return [to_json(fit(spec, runs, snapshot=snapshot.hash, where=domain.where)) for spec in specs]


def main() -> None:
    """Write one file for each story."""
    with tempfile.TemporaryDirectory() as folder, open_workspace(Path(folder)) as db:
        load_bundled(db)
        for domain in DOMAINS:
            text = json.dumps(make_fits(db, domain), separators=(",", ":"))
            (FOLDER / f"{domain.key}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
