"""Settings in cluster.toml, and messages about invalid settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.settings import Address, HTCondor, Local, Slurm, at_address, read_settings

SLURM = 'kind = "slurm"\ncores = 2\nmemory = "4 GB"\n'


def said(root: Path, text: str) -> str:
    """Return the message about a cluster.toml with ``text``."""
    (root / "cluster.toml").write_text(text)
    with pytest.raises(PlannerError) as error:
        read_settings(root)
    assert str(error.value).startswith(f"{root / 'cluster.toml'}: ")
    return str(error.value).removeprefix(f"{root / 'cluster.toml'}: ")


def test_kinds(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Local(cores=None)
    file = tmp_path / "cluster.toml"
    file.write_text("cores = 3")
    assert read_settings(tmp_path) == Local(cores=3)
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").touch()
    file.write_text(
        'kind = "address"\nscheduler = "tls://head.example.org:8786"\nca = "ca.pem"\ncert = "cert.pem"\nkey = "key.pem"'
    )
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "cert", "key")}
    address = Address(scheduler="tls://head.example.org:8786", **files)  # type: ignore[arg-type]
    assert read_settings(tmp_path) == address
    assert at_address("tls://other:1", known=address).ca == files["ca"]
    file.write_text(SLURM + 'walltime = "2-00:00:00"\nqueue = "gpu"\njobs = 4\nextra = ["--gres=gpu:1"]')
    assert read_settings(tmp_path) == Slurm(
        cores=2, memory="4 GB", walltime="2-00:00:00", queue="gpu", jobs=4, extra=("--gres=gpu:1",)
    )
    file.write_text('kind = "htcondor"\ncores = 1\nmemory = "500 MB"\nextra = { request_gpus = "1" }')
    assert read_settings(tmp_path) == HTCondor(cores=1, memory="500 MB", extra={"request_gpus": "1"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('kind = "pbs"', "kind cannot be 'pbs': use local, address, slurm or htcondor."),
        ("cores = 0", "cores cannot be 0: input should be greater than or equal to 1."),
        ("core = 2", "A cluster of kind local has no field 'core': remove it, or correct its name."),
        ('kind = "slurm"\ncores = 2', "The field memory is missing: give it a value."),
        (SLURM.replace("4 GB", "4"), "'4' is not an amount of memory: write it like 4 GB."),
        (SLURM + 'walltime = "1 h"', "'1 h' is not a time: write it like 01:00:00 or 2-00:00:00."),
        (
            SLURM + 'queue = "a b"',
            "'a b' has characters that a name cannot contain: use letters, digits, points, dashes.",
        ),
        ('kind = "address"', "The field scheduler is missing: give it a value."),
        (
            'kind = "address"\nscheduler = "head:8786"',
            "The scheduler 'head:8786' is not an address: write it like tls://host:8786.",
        ),
        (
            'kind = "address"\nscheduler = "tls://head:port"',
            "The scheduler 'tls://head:port' is not an address: write it like tls://host:8786.",
        ),
        (
            'kind = "address"\nscheduler = "tls://head:8786"\nca = "ca.pem"',
            "TLS needs the three files ca, cert and key, but only ca is given: give all three.",
        ),
    ],
)
def test_sentences(tmp_path: Path, text: str, sentence: str) -> None:
    assert said(tmp_path, text) == sentence


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    files = "".join(f'{name} = "{name}.pem"\n' for name in ("ca", "cert", "key"))
    assert said(tmp_path, f'kind = "address"\nscheduler = "tls://head:8786"\n{files}') == (
        f"The file {tmp_path / 'ca.pem'} of ca does not exist: correct its path."
    )


def test_no_toml(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text("kind =")
    with pytest.raises(PlannerError, match=r"cluster\.toml cannot be read: Invalid value"):
        read_settings(tmp_path)


@pytest.mark.parametrize("host", ["head.example.org", "10.0.0.7", "[2001:db8::1]"])
def test_without_encryption_only_on_this_machine_or_where_allowed(host: str) -> None:
    address = f"tcp://{host}:8786"
    sentence = (
        f"The connection to the scheduler {address} on another machine is not encrypted, so anybody in the network "
        "could run programs here: use tls://, or allow the connection with insecure = true in cluster.toml or "
        "--insecure."
    )
    with pytest.raises(PlannerError, match=re.escape(sentence)):
        at_address(address)
    assert at_address(address, insecure=True).scheduler == address


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_this_machine_needs_no_encryption(host: str) -> None:
    assert at_address(f"tcp://{host}:8786").insecure is False
