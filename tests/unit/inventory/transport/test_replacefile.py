from __future__ import annotations

import stat
import threading
import time
from pathlib import Path

import pytest

from inventory.transport.replacefile import edited


def test_an_error_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def fail_half_way() -> None:
        with edited(path) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_private_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with edited(path) as draft:
        draft.write_text("x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_mode_is_kept_and_the_old_content_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(0o644)
    with edited(path, keep_old=True) as draft:
        draft.write_text("after")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", 0o644)
    assert (tmp_path / "file.old").read_text() == "before"


def test_two_that_edit_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def append() -> None:
        with edited(path) as draft:
            text = draft.read_text()
            time.sleep(0.05)
            draft.write_text(text + "x")

    threads = [threading.Thread(target=append) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "xxxxx"
