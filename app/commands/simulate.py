"""`isoplan simulate`: write simulated jets of the JetClass classes, or events with squared amplitudes, to a file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from isoplan.app.commands.shared.output import INTERRUPTED, note, say
from isoplan.engine.errors import PlannerError


def simulate(
    what: Annotated[Literal["jets", "amplitudes"], typer.Argument(help="Kind of events to simulate.")],
    n: Annotated[
        int,
        typer.Option(
            "--n", min=1, max=10**9, help="Number of events or jets. Jets are divided equally over the classes."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            dir_okay=False,
            help="Output file. Jets: a ROOT file in the format of JetClass; amplitudes: .npz, .h5 or .parquet.",
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same events.")] = 0,
    classes: Annotated[
        str, typer.Option(metavar="NAME,...", help="Jets: classes, such as QCD,Hbb; by default all ten.")
    ] = "",
    process: Annotated[str, typer.Option(metavar="NAME", help="Amplitudes: the process, such as Zgg or ttH.")] = "",
    sqrt_s: Annotated[
        float | None,
        typer.Option(
            "--sqrt-s", help="Amplitudes: energy of the partons in GeV; by default drawn as for protons at 13 TeV."
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Number of parallel processes; by default one per core of this machine.")
    ] = None,
) -> None:
    """Simulate jets, or events with their squared amplitudes."""
    from isoplan.trainers.backend.cluster.machine import this_machine

    cores = cores or this_machine().cores
    if what == "jets":
        if process or sqrt_s is not None:
            raise PlannerError("Jets have no --process and no --sqrt-s: leave them out, or simulate amplitudes.")
        _jets(n, out, seed, classes, cores)
    else:
        if classes:
            raise PlannerError("Amplitudes have no --classes: leave them out, or simulate jets.")
        _amplitudes(process, n, out, seed, sqrt_s, cores)


def _jets(n: int, out: Path, seed: int, classes: str, cores: int) -> None:
    from isoplan.trainers.jets.features import NAMES
    from isoplan.trainers.jets.simulate.parts import Request, finished, need_place, parts_of, simulate

    kinds = tuple(name.strip() for name in classes.split(",") if name.strip()) or NAMES
    request, began = Request(kinds, n, seed), time.monotonic()
    need_place(out)
    with typer.progressbar(length=n, label=f"{n:,} jets", file=sys.stderr) as bar:

        def said(jets: int) -> None:
            bar.update(max(jets - bar.pos, 0))

        try:
            simulate(request, out, cores, said)
        except KeyboardInterrupt:
            chunks = request.chunks()
            done = len(finished(parts_of(out), chunks))
            bar.render_finish()
            note([f"Stopped with {done} of {len(chunks)} parts done: run the same command again to continue."])
            raise typer.Exit(INTERRUPTED) from None
    seconds, size = time.monotonic() - began, out.stat().st_size
    say(f"{out}: {n:,} jets of {len(kinds)} classes, {size / 1e6:.1f} MB, in {seconds:.0f} s.")


def _amplitudes(process: str, n: int, out: Path, seed: int, sqrt_s: float | None, cores: int) -> None:
    from isoplan.trainers.amplitudes.files import need_place, write_events
    from isoplan.trainers.amplitudes.phase_space.sampler import ROUNDS
    from isoplan.trainers.amplitudes.processes import PROCESSES
    from isoplan.trainers.amplitudes.simulate import Request, adapt, simulate

    if not process:
        raise PlannerError(f"Name the process of the amplitudes with --process: {', '.join(PROCESSES)}.")
    request, began = Request(process, n, seed, sqrt_s), time.monotonic()
    need_place(out)
    try:
        with typer.progressbar(length=ROUNDS, label=f"adapting to {process}", file=sys.stderr) as bar:
            ready = adapt(request, lambda rounds: bar.update(rounds - bar.pos))
        with typer.progressbar(length=n, label=f"{n:,} events", file=sys.stderr) as bar:
            sample = simulate(request, ready, cores, lambda events: bar.update(max(events - bar.pos, 0)))
    except KeyboardInterrupt:
        note(["Stopped: no events were written."])
        raise typer.Exit(INTERRUPTED) from None
    write_events(out, sample.events)
    seconds, size = time.monotonic() - began, out.stat().st_size
    heavy = (
        f"{sample.overweights:,} of them with weights above 1 (up to {sample.largest:.2f})"
        if sample.overweights
        else "all with weight 1"
    )
    say(
        f"{out}: {n:,} events of {process}, {heavy}, {size / 1e6:.1f} MB, in {seconds:.0f} s. "
        f"{sample.efficiency:.2%} of {sample.passed:,} points were accepted. Points with weights above the cap "
        f"contribute {sample.above:.2%} of the cross section, which is {sample.sigma:.4g} +- {sample.error:.2g} pb."
    )
