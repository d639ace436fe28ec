"""How cells are run: what the operator of a workspace wrote into ``cluster.toml``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """``cores`` of this machine that cells may use, all of them where None."""

    cores: int | None = None
