"""The local scheduler accepts connections only from the runner that started it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from cryptography import x509
from distributed import Client
from distributed.security import Security

from isoplan.trainers.backend.cluster.clusters import open_pool
from isoplan.trainers.backend.cluster.pool import Pool, temporary_security
from isoplan.trainers.backend.cluster.settings import Local
from tests import progress
from tests.conftest import skip_or_fail

NOBODY = 65_534
KNOCK = """
import encodings.idna, os, socket, ssl, sys
asked = ssl.create_default_context()
asked.check_hostname, asked.verify_mode = False, ssl.CERT_NONE
if len(sys.argv) > 3:  # the interpreter may lie where the other user cannot read
    os.setgid(int(sys.argv[3]))
    os.setuid(int(sys.argv[3]))
plain = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    if sys.argv[2] == "tls":
        plain = asked.wrap_socket(plain)
    plain.sendall(b"\\\\0" * 64)
    print(repr(plain.recv(64)))
except (ssl.SSLError, OSError) as error:
    print(type(error).__name__)
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    root = tmp_path_factory.mktemp("workspace")
    (root / "cells").mkdir()
    with open_pool(Local(cores=1), root) as opened:
        yield opened


def addresses(pool: Pool) -> list[str]:
    """Return the addresses of the scheduler and its worker."""
    known = pool.client.scheduler_info()
    return [known["address"], *known["workers"]]


def knocked(address: str, how: str, user: int | None = None) -> str:
    port = address.rpartition(":")[2]
    command = [sys.executable, "-I", "-S", "-c", KNOCK, port, how, *([] if user is None else [str(user)])]
    found = progress.run(command)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_the_runner_itself_is_answered(pool: Pool) -> None:
    assert pool.client.submit(sum, [40, 2]).result(timeout=progress.LAST) == 42
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses(pool))


@pytest.mark.parametrize("security", [None, "foreign"])
def test_a_client_without_the_keys_is_refused(pool: Pool, security: str | None) -> None:
    shown = Security.temporary() if security else Security()  # type: ignore[no-untyped-call]
    scheduler = addresses(pool)[0]
    for address in (scheduler, scheduler.replace("tls:", "tcp:")):
        # AssertionError is possible, because Dask checks the first message by an assert statement.
        with pytest.raises((OSError, TypeError, RuntimeError, AssertionError)):
            Client(address, security=shown, timeout=5, set_as_default=False)  # type: ignore[no-untyped-call]
    assert pool.client.submit(sum, [40, 2]).result(timeout=progress.LAST) == 42


@pytest.mark.parametrize("how", ["plain", "tls"])
def test_a_process_of_the_same_user_gets_no_answer(pool: Pool, how: str) -> None:
    for address in addresses(pool):
        assert knocked(address, how) in ("b''", "SSLError", "ConnectionResetError", "SSLEOFError")


@pytest.mark.parametrize("how", ["plain", "tls"])
def test_a_process_of_another_user_gets_no_answer(pool: Pool, how: str) -> None:
    if os.getuid() != 0:
        skip_or_fail("root", "only root can start a process of another user")
    for address in addresses(pool):
        assert knocked(address, how, NOBODY) in ("b''", "SSLError", "ConnectionResetError", "SSLEOFError")


def test_the_keys_are_on_no_disk_and_no_command_line(pool: Pool) -> None:
    root: Path = pool.root
    assert not [p for p in root.rglob("*") if p.is_file() and b"PRIVATE KEY" in p.read_bytes()]
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"PRIVATE KEY" not in line.read_bytes()
        except OSError:
            continue


def test_the_certificate_stays_valid_when_the_clock_is_set_back() -> None:
    text: str = temporary_security().get_tls_config_for_role("client")["ca_file"]  # type: ignore[no-untyped-call]
    certificate = x509.load_pem_x509_certificate(text.encode())
    assert certificate.not_valid_before_utc.year == 2000
    assert certificate.not_valid_after_utc.year == 2999
