"""Whatever stands in an entry is text: a file holds it, a command gets it, a link points to it, and nothing runs it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.playbooks.books.entries import planned, step
from tests.unit.playbooks.sh import sh

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="entries of playbooks are root's business")

WORDS = ("'", '"', "$(touch /tmp/pwned)", "`id`", "\n", "\t", "\\", "$HOME", ";", "&", "é", "🙂", "EOF", "*", " ", "-")
PRINT = 'printf %s "$0" >"$1"'
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
TEXT = st.lists(st.one_of(st.sampled_from(WORDS), ANY), max_size=6).map("".join)
NAME = TEXT.map(lambda text: text.replace("/", "_")[:40]).filter(lambda text: text not in {"", ".", ".."})


@settings(max_examples=25, deadline=None)
@given(name=NAME, content=TEXT)
def test_any_text_arrives_as_it_is(name: str, content: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        steps = (
            step("file", path=str(path), content=content),
            step("symlink", id="link", path=f"{folder}/link of it", target=content or "x"),
            step("command", id="run", run=["sh", "-c", PRINT, content, f"{folder}/out"], creates=f"{folder}/out"),
        )
        for change in planned(*steps):
            done = sh(f"set -eu\n{change.script}")
            assert done.returncode == 0, done.stderr
        assert path.read_bytes().decode() == content
        assert (Path(folder) / "out").read_bytes().decode() == content
        assert str((Path(folder) / "link of it").readlink()) == str(Path(content or "x"))
        assert planned(*steps) == ()
        assert not Path("/tmp/pwned").exists()
