"""Peak rates of common accelerators, to read "200 H200 hours" as FLOPs; ``PEAKS_OF`` dates them."""

from __future__ import annotations

from dataclasses import dataclass

PEAKS_OF = "2026-11"
UTILISATION = 0.40
"""Share of the peak that a well-run training job reaches; what is assumed where nobody says otherwise."""


@dataclass(frozen=True)
class Accelerator:
    """One device: dense peak in FLOP/s (no sparsity), its precision, and the data sheet that says so."""

    name: str
    peak: float
    precision: str
    source: str


ACCELERATORS: tuple[Accelerator, ...] = (
    Accelerator("B200", 2.25e15, "bf16", "NVIDIA DGX B200 data sheet"),
    Accelerator("H200", 989e12, "bf16", "NVIDIA H200 data sheet"),
    Accelerator("H100", 989e12, "bf16", "NVIDIA H100 data sheet, SXM"),
    Accelerator("A100", 312e12, "bf16", "NVIDIA A100 data sheet"),
    Accelerator("L40S", 362e12, "bf16", "NVIDIA L40S data sheet"),
    Accelerator("RTX4090", 165e12, "bf16", "NVIDIA Ada architecture white paper"),
    Accelerator("V100", 125e12, "fp16", "NVIDIA V100 data sheet, SXM2"),
    Accelerator("MI300X", 1307e12, "bf16", "AMD Instinct MI300X data sheet"),
    Accelerator("TPUv5p", 459e12, "bf16", "Google Cloud TPU v5p documentation"),
)


def accelerator(name: str) -> Accelerator | None:
    """The device called ``name``, whatever its case, blanks and hyphens; None where the table has none."""
    key = _key(name)
    return next((a for a in ACCELERATORS if _key(a.name) == key), None)


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
