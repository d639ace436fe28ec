"""Squared amplitudes of the built-in processes at tree level, computed from off-shell currents."""

from __future__ import annotations

from isoplan.trainers.amplitudes.processes.catalogue import PROCESSES, Process, find_process
from isoplan.trainers.amplitudes.processes.check import check_momenta
from isoplan.trainers.amplitudes.processes.evaluate import squared_amplitude

__all__ = ["PROCESSES", "Process", "check_momenta", "find_process", "squared_amplitude"]
