"""Whatever is changed, cut off or missing in what came to a host is found, and nothing of it is called whole."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.cargo import Cargo, CargoFile
from playbooks.steps.shipped import shipped

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._+!-]{0,20}", fullmatch=True).filter(lambda name: name != "MANIFEST")
FILES = st.dictionaries(NAMES, st.binary(max_size=40), min_size=1, max_size=4)
SLIPS = ("none", "changed", "cut", "missing", "longer", "swapped", "folder")


def slipped(folder: Path, name: str, data: bytes, slip: str) -> bool:
    """Do it to the file; whether anything has changed by it."""
    path = folder / name
    match slip:
        case "changed":
            path.write_bytes(bytes([*data[:-1], (data[-1] + 1) % 256]) if data else b"x")
        case "cut":
            path.write_bytes(data[:-1])
            return bool(data)
        case "missing":
            path.unlink()
        case "longer":
            path.write_bytes(data + b"\0")
        case "swapped":
            path.write_bytes(hashlib.sha256(data).digest())
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            return False
    return True


@settings(max_examples=25, deadline=None)
@given(files=FILES, slip=st.sampled_from(SLIPS), data=st.data())
def test_every_slip_is_found(files: dict[str, bytes], slip: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(files)))
    told = tuple(CargoFile(one, len(body), hashlib.sha256(body).hexdigest(), "/x") for one, body in files.items())
    with tempfile.TemporaryDirectory() as top:
        cargo = Cargo(f"{top}/there/x", f"{top}/in/x", told)
        incoming = Path(cargo.incoming)
        incoming.mkdir(parents=True)
        for one, body in files.items():
            (incoming / one).write_bytes(body)
        is_wrong = slipped(incoming, name, files[name], slip)
        step = shipped(cargo, what="files", why="test")
        done = subprocess.run(["/bin/sh", "-eu"], input=step.script, text=True, capture_output=True, check=False)
        state = subprocess.run(["/bin/sh"], input=step.probe, text=True, capture_output=True, check=True).stdout
        assert (done.returncode != 0) is is_wrong, done.stderr
        assert (state == step.wanted) is not is_wrong
        if is_wrong:
            assert f"outcome\tchecksum-mismatch {name}" in done.stdout
            kept = {path.name for path in incoming.iterdir() if path.is_file()}
            assert kept == files.keys() - {name}, "only what is wrong is thrown away"
        else:
            assert {one: (Path(cargo.folder) / one).read_bytes() for one in files} == files


@given(files=FILES, other=FILES)
def test_other_files_are_another_digest(files: dict[str, bytes], other: dict[str, bytes]) -> None:
    def digest(of: dict[str, bytes]) -> str:
        told = tuple(CargoFile(one, len(body), hashlib.sha256(body).hexdigest(), "/x") for one, body in of.items())
        return Cargo("/f", "/i", told).digest

    assert (digest(files) == digest(other)) is (files == other)
    assert digest(files) == digest(dict(reversed(files.items())))
