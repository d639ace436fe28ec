"""Tests of the default folder of the workspace, and of the open workspace that pages use."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoplan.app import workspace
from isoplan.app.bundled import load_bundled
from isoplan.app.serving import logs
from isoplan.data.catalogue import BUNDLED, DEMOS, path
from isoplan.engine.errors import PlannerError
from isoplan.engine.store import folders
from isoplan.engine.store.database import database
from isoplan.engine.store.tables import tables


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set up an environment without a home folder, with ``tmp_path`` as its temporary folder."""
    for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_the_users_data_folder_comes_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "home").mkdir()
    monkeypatch.setenv("HOME", str(bare / "home"))
    assert folders.default_folder() == bare / "home" / ".isoplan"
    monkeypatch.setenv("XDG_DATA_HOME", str(bare / "data"))
    assert folders.default_folder() == bare / "data" / "isoplan"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert folders.default_folder() == bare / "home" / ".isoplan"


def test_without_a_home_the_temporary_folder_is_the_users_alone(bare: Path) -> None:
    folder = folders.default_folder()
    assert folder.parent == bare
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folders.default_folder() == folder


def test_a_home_that_is_missing_is_left_out(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(bare / "nowhere"))
    assert folders.default_folder().parent == bare
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    assert folders.default_folder().parent == bare


def test_a_temporary_folder_of_another_user_is_refused(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = folders.default_folder()
    somebody = own.stat().st_uid + 1
    own.rename(own.with_name(f"isoplan-{somebody}"))
    monkeypatch.setattr("os.getuid", lambda: somebody)
    with pytest.raises(PlannerError, match="belongs to another user: name a folder of yours with --workspace"):
        folders.default_folder()


def test_without_a_server_pages_get_a_sentence() -> None:
    assert not workspace.is_open()
    with pytest.raises(PlannerError, match="start the pages with `isoplan app`"):
        workspace.current()


def test_what_is_registered_is_what_pages_see() -> None:
    with database.memory() as db:
        with workspace.registered(db, workspace.Settings("http://h:1", shared=True)) as seen:
            assert workspace.current() is db is seen
            assert workspace.settings().url == "http://h:1"
            assert not workspace.settings().training
        assert not workspace.is_open()
    assert workspace.settings().training


def test_bundled_tables_are_there_once_and_read_only() -> None:
    with database.memory() as db:
        load_bundled(db)
        load_bundled(db)
        found = {t.name: t for t in tables.all(db)}
        assert list(found) == [t.name for t in BUNDLED]
        for demo in BUNDLED:
            table = found[demo.name]
            assert table.read_only
            assert table.provenance == demo.provenance
            assert tables.roles(db, table.id) == demo.roles
            with pytest.raises(PlannerError):
                tables.delete(db, table.id)


def test_a_corrected_mapping_of_a_bundled_table_stays() -> None:
    with database.memory() as db:
        load_bundled(db)
        table = tables.by_name(db, DEMOS[0].name)
        corrected = tables.roles(db, table.id).model_copy(update={"run": None})
        tables.set_roles(db, table.id, corrected)
        load_bundled(db)
        assert tables.roles(db, table.id) == corrected


def test_bundled_tables_of_an_earlier_version_are_put_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    demo = BUNDLED[0]
    lines = path(demo.file).read_text(encoding="utf-8").splitlines(keepends=True)
    earlier = tmp_path / "earlier.csv"
    earlier.write_text("".join(lines[:-1]), encoding="utf-8")
    with database.memory() as db:
        with monkeypatch.context() as patch:
            patch.setattr("isoplan.app.bundled.path", lambda file: earlier if file == demo.file else path(file))
            load_bundled(db)
        before = tables.by_name(db, demo.name)
        mine = tables.add(db, b"N,loss\n1,2\n", "mine.csv")
        load_bundled(db)
        assert [t.rows for t in tables.all(db) if t.name == demo.name] == [before.rows + 1]
        assert tables.get(db, before.id).deleted
        assert not tables.get(db, mine.id).deleted
        with monkeypatch.context() as patch:
            patch.setattr("isoplan.app.bundled.path", lambda file: earlier if file == demo.file else path(file))
            load_bundled(db)
        assert [t.rows for t in tables.all(db) if t.name == demo.name] == [before.rows]


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """Return the root logger. Its handlers are restored after the test."""
    root, before = logging.getLogger(), [*logging.getLogger().handlers]
    yield root
    for handler in set(root.handlers) - set(before):
        handler.close()
        root.removeHandler(handler)


def test_the_log_file_has_the_traceback_and_the_console_a_sentence(tmp_path: Path, root_logger: logging.Logger) -> None:
    path = logs.to_file(tmp_path)
    try:
        raise ValueError("inside")
    except ValueError:
        logging.getLogger("isoplan.page").exception("a page\nfell over")
    text = path.read_text()
    assert path == tmp_path / "logs" / "isoplan.log"
    assert "Traceback" in text
    assert "ValueError: inside" in text
    record = logging.LogRecord("isoplan.page", logging.ERROR, "", 0, "incident %s\nmore", ("a1",), None)
    assert logs.Sentence().format(record) == "isoplan: incident a1"


def test_the_token_of_a_shared_address_is_not_logged(tmp_path: Path, root_logger: logging.Logger) -> None:
    """When the server refuses a WebSocket, uvicorn logs the whole address, which contains the token."""
    path = logs.to_file(tmp_path)
    root_logger.setLevel(logging.INFO)
    line = '%s - "WebSocket %s" 403'
    logging.getLogger("uvicorn.error").info(line, "127.0.0.1:1", "/_stcore/stream?token=a-secret&x=1")
    text = path.read_text()
    assert "a-secret" not in text
    assert 'WebSocket /_stcore/stream?..." 403' in text
