"""The gathering script as text: what runs on every host is reviewed, not only its answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from inventory.facts.gather import PIECES, Asked, piece, script, sections

GOLDEN = Path(__file__).parent / "facts_script.sh"
ASKED = Asked(state_dir="/var/lib/bringup", paths=("/raid/it's models",), addresses=("192.0.2.2", "tray2.example"))


def test_the_whole_script() -> None:
    """After a wanted change: `python -m tests.golden.test_facts_script`."""
    assert script(ASKED) == GOLDEN.read_text(encoding="utf-8")


def test_it_fits_into_one_argument_of_a_command() -> None:
    assert len(script(ASKED).encode()) < 100_000  # Linux takes 128 KiB


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_every_shell_can_parse_it(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    for text in (script(ASKED), sections(ASKED)):
        argv = [program, *(["ash"] if shell == "busybox" else []), "-n"]
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=30)
        assert (done.returncode, done.stderr) == (0, "")


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")
    for name, text in (("script.sh", script(ASKED)), ("sections.sh", sections(ASKED))):
        (tmp_path / name).write_text(text)
        done = subprocess.run(
            [program, "--shell=sh", tmp_path / name], capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.returncode, done.stdout) == (0, "")


def test_pieces_are_functions_only() -> None:
    """A piece that other scripts use must do nothing when it is read (items.sh sets the section up)."""
    for name in set(PIECES) - {"sh/items"}:
        outside = [line for line in piece(name).splitlines() if line and line[0] not in "#}\t " and "() {" not in line]
        assert outside in ([], ["} 2>/dev/null"])


if __name__ == "__main__":
    GOLDEN.write_text(script(ASKED), encoding="utf-8")
