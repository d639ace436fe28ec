"""`isoplan simulate jets`: jets of the JetClass classes into a ROOT file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.commands.output import note, say

INTERRUPTED = 130
"""The exit code after Ctrl+C, as shells have it."""


def simulate(
    what: Annotated[Literal["jets"], typer.Argument(help="What is simulated.")],
    n: Annotated[int, typer.Option("--n", min=1, max=10**9, help="Jets in all, as many of each class.")],
    out: Annotated[Path, typer.Option(dir_okay=False, help="The ROOT file, with the branches of JetClass.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random: the same gives the same jets.")] = 0,
    classes: Annotated[str, typer.Option(metavar="NAME,...", help="Classes, QCD,Hbb; without it all ten.")] = "",
    cores: Annotated[
        int | None, typer.Option(min=1, help="Processes at once; without it one a core of this machine.")
    ] = None,
) -> None:
    """Simulate jets of the ten JetClass classes with Pythia and FastJet."""
    from trainers.backend.machine import this_machine
    from trainers.jets.classes import NAMES
    from trainers.jets.simulate.parts import Request
    from trainers.jets.simulate.run import finished, need_place, parts_of, simulate

    kinds = tuple(name.strip() for name in classes.split(",") if name.strip()) or NAMES
    request, began = Request(kinds, n, seed), time.monotonic()
    need_place(out)
    with typer.progressbar(length=n, label=f"{n:,} jets", file=sys.stderr) as bar:

        def said(jets: int) -> None:
            bar.update(max(jets - bar.pos, 0))

        try:
            simulate(request, out, cores or this_machine().cores, said)
        except KeyboardInterrupt:
            chunks = request.chunks()
            done = len(finished(parts_of(out), chunks))
            bar.render_finish()
            note([f"Stopped with {done} of {len(chunks)} parts done: the same command goes on from there."])
            raise typer.Exit(INTERRUPTED) from None
    seconds, size = time.monotonic() - began, out.stat().st_size
    say(f"{out}: {n:,} jets of {len(kinds)} classes, {size / 1e6:.1f} MB, in {seconds:.0f} s.")
