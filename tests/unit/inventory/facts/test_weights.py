from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gather import program
from inventory.facts.host import FileLock, StoredFile, WeightFolder
from inventory.facts.weights import parse_listing, read_locks, read_weight_folders
from tests.answered import Said, answers

FOLDER = "/s/weights/org--m/abc"
MANIFEST = {"repo": "org/m", "commit": "abc", "files": [{"path": "a.safetensors", "size": 9, "sha256": "d1"}]}
HOST: dict[str, Said] = {
    "weights.now": "1000\n",
    "weights.locks": "7 400 0 /s/caches/aiter/x.lock\n8 900 5 /s/weights/a.incomplete\nnonsense\n",
    "weights.held": "1: POSIX  ADVISORY  WRITE 4711 fe:00:7 0 EOF\n",
    "weights.files.1": f"{FOLDER}\n9 {FOLDER}/a.safetensors\n"
    f"3 {FOLDER}/.cache/huggingface/download/a.incomplete\n4 {FOLDER}/it's one\n",
    "weights.links.2": f"{FOLDER}\n{FOLDER}/l -> /data/blob\n{FOLDER}/m -> {FOLDER}/a.safetensors\n",
    "weights.unreadable.3": f"{FOLDER}\n{FOLDER}/secret.bin\n",
    "weights.pointers.4": f"{FOLDER}\n{FOLDER}/p.bin\n",
    "weights.headers": f"damaged {FOLDER}/a.safetensors: 9 bytes\ndamaged /s/weights/x/y/b: no\nchecked 2\n",
    "state.weights.1": f"{FOLDER}/\n{json.dumps(MANIFEST)}",
}


def test_a_folder_with_everything() -> None:
    (found,) = read(HOST)
    assert found == WeightFolder(
        path=FOLDER,
        files=(StoredFile("a.safetensors", 9), StoredFile("it's one", 4)),
        partial=(".cache/huggingface/download/a.incomplete",),
        unreadable=("secret.bin",),
        outside=("l -> /data/blob",),
        pointers=("p.bin",),
        damaged=("a.safetensors: 9 bytes",),
        manifest=(StoredFile("a.safetensors", 9, "d1"),),
    )


def read(items: dict[str, Said]) -> tuple[WeightFolder, ...]:
    found = read_weight_folders(answers(items))
    assert not isinstance(found, Unknown)
    return found


def test_headers_that_were_not_all_read_are_not_good_ones() -> None:
    for said in ("damaged x: y\n", "", (127, "python3: not found")):
        assert read({**HOST, "weights.headers": said})[0].damaged is None


def test_no_folder_is_an_answer_and_no_end_is_none() -> None:
    assert read({"weights.now": "1\n"}) == ()
    late = read_weight_folders(answers(HOST, {"weights": 124}))
    assert isinstance(late, Unknown)
    assert late.why is Why.TIMED_OUT
    assert isinstance(read_weight_folders(answers({})), Unknown)


def test_a_simulated_folder_says_so() -> None:
    made_up = {**HOST, "state.weights.1": f"{FOLDER}/\n{json.dumps(MANIFEST | {'simulated': True})}"}
    assert (read(made_up)[0].simulated, read(HOST)[0].simulated) == (True, False)


def test_a_folder_without_a_manifest_is_told_so() -> None:
    del (without := dict(HOST))["state.weights.1"]
    assert read(without)[0].manifest is None


def test_locks_and_who_holds_them() -> None:
    assert read_locks(answers(HOST)) == (
        FileLock("/s/caches/aiter/x.lock", 600, 0, 4711),
        FileLock("/s/weights/a.incomplete", 100, 5, None),
    )
    assert isinstance(read_locks(answers({})), Unknown)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "1843 config.json\n4976698672 model-00001.safetensors\n",
            (("config.json", 1843), ("model-00001.safetensors", 4976698672)),
        ),
        ("total 8\n-rw-r--r-- 1 a users 12 Sep  5 10:01 my file.json\n", (("my file.json", 12),)),
        ("-rw-r--r--. 1 a users 12 Sep  5  2026 x\n", (("x", 12),)),
        ("drwxr-xr-x 2 a users 4096 Sep 5 10:01 encoding\n", ()),
        ("", ()),
    ],
)
def test_listings(text: str, expected: tuple[tuple[str, int], ...]) -> None:
    assert tuple((one.path, one.size) for one in parse_listing(text)) == expected


def safetensors(path: Path, *, cut: int = 0, length: int | None = None) -> None:
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    whole = struct.pack("<Q", len(header) if length is None else length) + header + b"0" * 16
    path.write_bytes(whole[: len(whole) - cut])


def looked_at(folder: Path) -> str:
    words = [sys.executable, "-I", "-S", "-c", program("weights"), str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_program_finds_what_does_not_fit(tmp_path: Path) -> None:
    safetensors(tmp_path / "good.safetensors")
    safetensors(tmp_path / "short.safetensors", cut=4)
    safetensors(tmp_path / "huge.safetensors", length=10**12)
    (tmp_path / "tiny.safetensors").write_bytes(b"123")
    (tmp_path / "text.safetensors").write_bytes(struct.pack("<Q", 4) + b"oops")
    index = {"weight_map": {"a": "good.safetensors", "b": "gone.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/ignored.safetensors").write_bytes(b"")
    said = looked_at(tmp_path)
    damaged = {Path(line.split(": ")[0]).name: line.split(": ", 1)[1] for line in said.splitlines() if ": " in line}
    assert set(damaged) == {
        "short.safetensors",
        "huge.safetensors",
        "tiny.safetensors",
        "text.safetensors",
        "model.safetensors.index.json",
    }
    assert damaged["model.safetensors.index.json"] == "gone.safetensors is not there, and 0 more"
    assert said.endswith("checked 6\n")


def test_the_program_survives_any_header(tmp_path: Path) -> None:
    for at, header in enumerate((b"[]", b"{}", b'{"w": 1}', b'{"w": {"data_offsets": []}}', b"\xff\xfe", b"null")):
        (tmp_path / f"{at}.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert looked_at(tmp_path).endswith("checked 6\n")
