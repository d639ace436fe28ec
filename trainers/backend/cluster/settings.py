"""Settings of the cluster, which the operator of a workspace writes in ``cluster.toml``.

Without this file, cells run on this machine.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from isoplan.engine.errors import PlannerError

FILE = "cluster.toml"
WALLTIME = re.compile(r"(\d+-)?\d{1,3}:\d{2}:\d{2}")
MEMORY = re.compile(r"\d+(\.\d+)? ?[kMGT]i?B")


class _Kind(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Local(_Kind):
    """Workers on this machine. ``cores`` is the number of cores for cells; None means all."""

    kind: Literal["local"] = "local"
    cores: Annotated[int, Field(ge=1, le=4096)] | None = None


class Address(_Kind):
    """An external Dask scheduler, and the TLS files for the authentication between the scheduler and this client.

    ``insecure`` allows an unencrypted connection to another machine.
    """

    kind: Literal["address"] = "address"
    scheduler: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    insecure: bool = False

    @field_validator("scheduler")
    @classmethod
    def _whole(cls, scheduler: str) -> str:
        parts = urlsplit(scheduler)
        try:
            whole = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port
        except ValueError:
            whole = False
        if not whole or parts.path:
            raise ValueError(f"The scheduler {scheduler!r} is not an address: write it like tls://host:8786.")
        return scheduler

    @model_validator(mode="after")
    def _safe(self) -> Address:
        parts = urlsplit(self.scheduler)
        if parts.scheme == "tcp" and not self.insecure and not _is_here(parts.hostname or ""):
            raise ValueError(
                f"The connection to the scheduler {self.scheduler} on another machine is not encrypted, so anybody in "
                "the network could run programs here: use tls://, or allow the connection with insecure = true in "
                "cluster.toml or --insecure."
            )
        given = [name for name in ("ca", "cert", "key") if getattr(self, name) is not None]
        if given and len(given) < 3:
            raise ValueError(
                f"TLS needs the three files ca, cert and key, but only {' and '.join(given)} is given: give all three."
            )
        for name in given:
            if not getattr(self, name).is_file():
                raise ValueError(f"The file {getattr(self, name)} of {name} does not exist: correct its path.")
        return self


class Jobs(_Kind):
    """Batch jobs. Isoplan maintains ``jobs`` jobs in the batch system; each has ``cores`` workers.

    ``memory`` is the memory of one job. If ``gpu`` is true, a job has one GPU, which its workers share. ``interface``
    is the network interface through which jobs reach this machine. ``prologue`` contains shell lines that run before
    the workers start, such as ``module load``.
    """

    cores: Annotated[int, Field(ge=1, le=4096)]
    memory: str
    walltime: str = "01:00:00"
    account: str | None = None
    jobs: Annotated[int, Field(ge=1, le=10_000)] = 1
    gpu: bool = False
    interface: str | None = None
    prologue: tuple[str, ...] = ()

    @field_validator("memory", "disk", check_fields=False)
    @classmethod
    def _bytes(cls, memory: str) -> str:
        if not MEMORY.fullmatch(memory):
            raise ValueError(f"{memory!r} is not an amount of memory: write it like 4 GB.")
        return memory

    @field_validator("walltime")
    @classmethod
    def _duration(cls, walltime: str) -> str:
        if not WALLTIME.fullmatch(walltime):
            raise ValueError(f"{walltime!r} is not a time: write it like 01:00:00 or 2-00:00:00.")
        return walltime

    @field_validator("account", "interface", "queue", check_fields=False)
    @classmethod
    def _word(cls, word: str | None) -> str | None:
        if word is not None and not re.fullmatch(r"[\w.,@:/+-]+", word):
            raise ValueError(
                f"{word!r} has characters that a name cannot contain: use letters, digits, points, dashes."
            )
        return word


class Slurm(Jobs):
    """Slurm jobs. ``extra`` contains options of sbatch such as ``--gres=gpu:1``; each is one line of the job script."""

    kind: Literal["slurm"] = "slurm"
    queue: str | None = None
    extra: tuple[str, ...] = ()


class HTCondor(Jobs):
    """HTCondor jobs. ``extra`` contains additional lines of the submit file, such as ``request_gpus = "1"``."""

    kind: Literal["htcondor"] = "htcondor"
    disk: str = "1 GB"
    extra: dict[str, str] = {}


Settings = Local | Address | Slurm | HTCondor
_ANY: TypeAdapter[Settings] = TypeAdapter(Annotated[Settings, Field(discriminator="kind")])


def read_settings(root: Path) -> Settings:
    """Return the settings in ``cluster.toml`` of the workspace ``root``, or ``Local()`` if the file does not exist.

    Paths in the file are relative to the workspace. Raises PlannerError with the name of the invalid field.
    """
    path = root / FILE
    if not path.exists():
        return Local()
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlannerError(f"The file {path} cannot be read: {error}.") from error
    for name in ("ca", "cert", "key"):
        if isinstance(raw.get(name), str):
            raw[name] = root / Path(raw[name]).expanduser()
    try:
        return _ANY.validate_python({"kind": "local", **raw})
    except ValidationError as error:
        raise PlannerError(f"{path}: {_why(error)}") from error


def at_address(scheduler: str, insecure: bool = False, known: Settings | None = None) -> Address:
    """Return the settings for the option ``--scheduler``.

    ``known`` contains the settings in ``cluster.toml``; the certificates in these settings are used. Raises
    PlannerError if ``scheduler`` is not a valid address, or if the connection would not be secure.
    """
    files = {n: getattr(known, n) for n in ("ca", "cert", "key")} if isinstance(known, Address) else {}
    try:
        return Address(scheduler=scheduler, insecure=insecure, **files)
    except ValidationError as error:
        raise PlannerError(_why(error)) from error


def _why(error: ValidationError) -> str:
    """Return a sentence about the first invalid field of the settings."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("local", "address", "slurm", "htcondor"))
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    if first["type"] == "union_tag_invalid":
        return f"kind cannot be {first['input'].get('kind')!r}: use local, address, slurm or htcondor."
    if first["type"] == "extra_forbidden":
        kind = first["loc"][0]
        return f"A cluster of kind {kind} has no field {where!r}: remove it, or correct its name."
    if first["type"] == "missing":
        return f"The field {where} is missing: give it a value."
    return f"{where} cannot be {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}."


def _is_here(host: str) -> bool:
    """Return whether ``host`` is a loopback address of this machine, such as 127.0.0.1 or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
