"""Dask schedulers, workers and certificates for tests, started with the commands of a cluster operator."""

from __future__ import annotations

import datetime
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests import progress
from tests.trainers.conftest import ROOT

QUIET = {"DASK_LOGGING__DISTRIBUTED": "warning"}


def free_port() -> int:
    """Return the number of a free port of this machine."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def certificates(folder: Path) -> dict[str, Path]:
    """Write a self-signed certificate and return the paths of its files by name: ca, cert and key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "isoplan test")])
    now = datetime.datetime.now(datetime.UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    text = cert.public_bytes(serialization.Encoding.PEM)
    (folder / "ca.pem").write_bytes(text)
    (folder / "cert.pem").write_bytes(text)
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return {what: folder / f"{what}.pem" for what in ("ca", "cert", "key")}


def tls_options(files: dict[str, Path] | None) -> list[str]:
    """Return the options of Dask's commands for the TLS files ``files``."""
    names = {"ca": "--tls-ca-file", "cert": "--tls-cert", "key": "--tls-key"}
    return [part for what, path in (files or {}).items() for part in (names[what], str(path))]


@contextmanager
def process(folder: Path, *command: str, before: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``python -m`` with ``command``. At the end of the context, terminate the process and its children."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "cluster.log").open("ab") as log:
        started = subprocess.Popen(
            [*before, sys.executable, "-P", "-m", *command],
            env={**os.environ, **QUIET, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
            cwd=folder,
        )
    try:
        yield started
    finally:
        started.terminate()
        try:
            progress.end(started, folder)
        finally:
            started.kill()
            started.wait()


@contextmanager
def scheduler(folder: Path, port: int, files: dict[str, Path] | None = None) -> Iterator[str]:
    """Run a scheduler on the loopback address and yield its address."""
    protocol = "tls" if files else "tcp"
    command = ["distributed.cli.dask_scheduler", "--host", f"{protocol}://127.0.0.1", "--port", str(port)]
    dashboard = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with process(folder, *command, *dashboard, *tls_options(files)):
        yield f"{protocol}://127.0.0.1:{port}"


@contextmanager
def workers(
    folder: Path, address: str, files: dict[str, Path] | None = None, *more: str, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Run two workers with one thread each for the scheduler at ``address``."""
    command = ["distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
    where = ["--local-directory", str(folder / "scratch"), "--memory-limit", "0"]
    with process(folder, *command, *where, *tls_options(files), *more, before=before) as started:
        yield started
