"""The key of an endpoint: kept, read, given to the ranks and to the probe, and shown nowhere."""

from __future__ import annotations

import http.server
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.secret import Secret
from inventory.transport.base import Completed
from launch.building.assemble import assemble
from launch.building.command import HostCommand
from launch.building.engine import engines_of
from launch.building.unit import UnitSettings, command_file
from launch.console.report import print_json
from launch.planned.api_key import GENERATE, ApiKey, api_key
from launch.planned.wanted import KEY_FILE, Wanted
from launch.request import Request
from launch.running.smoke import Endpoint, read_answer, smoke_script
from tests.unit.launch.real_gangs import decided, gang

KEY = "sk-0123456789abcdefghijklmnop"
GIVEN = ApiKey(Secret(KEY), "/home/me/key")


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, again, other = api_key(GENERATE, "pro"), api_key(GENERATE, "pro"), api_key(GENERATE, "flash")
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.secret.reveal() == again.secret.reveal() != other.secret.reveal()
    assert stat.S_IMODE(os.stat(first.origin).st_mode) == 0o600  # noqa: PTH116  (origin is a text)
    assert len(first.secret.reveal()) >= 32


def test_a_key_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n", encoding="ascii")
    found = api_key(str(tmp_path / "key"), "pro")
    assert found is not None
    assert found.secret.reveal() == KEY
    assert api_key("", "pro") is None


@pytest.mark.parametrize("text", ["", "short", "with space 0123456789", "two\nlines0123456789", "ünïcödé-0123456789"])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        api_key(str(tmp_path / "key"), "pro")
    assert not text.strip() or text.strip() not in f"{caught.value} {caught.value.observed}"
    with pytest.raises(BadInput, match="api-key"):
        api_key(str(tmp_path / "nowhere"), "pro")


def test_it_shows_as_stars_and_in_no_command() -> None:
    request = Request(model="deepseek-v4-pro", wanted=Wanted(api_key=GIVEN))
    decision = decided(request, *gang("gb200-tray", 2))
    assert KEY not in repr(decision)
    assert KEY not in "".join(map(str, decision.placement.reasons))
    assert any("*** (/home/me/key)" in str(one) for one in decision.placement.reasons)
    for command in decision.commands:
        assert command.api_key is GIVEN
        assert KEY not in " ".join([*command.argv, *(value for _, value in command.env)])


def test_a_headless_host_does_not_get_it() -> None:
    request = Request(model="glm-5", strategy="multi_node_tp", wanted=Wanted(api_key=GIVEN))
    head, follower = decided(request, *gang("gb200-tray", 2)).commands
    assert (head.api_key, follower.api_key) == (GIVEN, None)


def test_another_key_is_another_generation_and_its_file_is_private(capsys: pytest.CaptureFixture[str]) -> None:
    members, seen = gang("gb200-tray", 1)
    generations = set()
    for key in (None, GIVEN, replace(GIVEN, secret=Secret(KEY + "x"))):
        request = Request(model="deepseek-v4-pro", wanted=Wanted(api_key=key))
        decision = decided(request, members, seen)
        engines = engines_of(decision.choice, members, seen, served_name="pro")
        made = assemble(decision, "pro", members, seen, engines)
        generations.add(made.gang.generation)
        assert made.gang.asks_key == (key is not None)
        private = [step for step in made.steps["tray1"] if step.id.endswith(f"/{KEY_FILE}")]
        assert [step.wanted.rpartition(" ")[2] for step in private] == (["0600"] if key else [])
        if key is GIVEN:
            print_json("steps", made.steps["tray1"], hide=GIVEN.shown_as)
    assert len(generations) == 3
    shown = capsys.readouterr().out
    assert "***" in shown
    assert not [one for one in GIVEN.shown_as if one in shown]


def test_the_engine_gets_it_from_the_file_and_no_process_has_it_among_its_words(tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$VLLM_API_KEY" "$*"\ntr "\\0" " " </proc/$$/cmdline\n')
    program.chmod(0o755)
    (tmp_path / KEY_FILE).write_text(KEY)
    command = HostCommand("h", (("PATH", os.environ["PATH"]),), (str(program), "serve", "/m", "--port", "8 0"))
    settings = UnitSettings("d", "g", str(tmp_path), "root", key_file=f"{tmp_path}/{KEY_FILE}")
    text = command_file(command, settings)
    assert KEY not in text
    done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True)
    key, words, own = done.stdout.split("\n", 2)
    assert (key, words) == (KEY, "serve /m --port 8 0")
    assert KEY not in own


def test_without_its_file_the_engine_does_not_start_open(tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\necho started\n")
    program.chmod(0o755)
    command = HostCommand("h", (("PATH", os.environ["PATH"]),), (str(program), "serve", "/m"))
    settings = UnitSettings("d", "g", str(tmp_path), "root", key_file=f"{tmp_path}/missing")
    script = command_file(command, settings)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "started" not in done.stdout


class Guarded(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        ok = self.headers.get("Authorization") == f"Bearer {KEY}"
        body: dict[str, object] = {"choices": [{"message": {"content": "hi"}}], "usage": {"completion_tokens": 1}}
        self.send_response(200 if ok else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body if ok else {"error": "no"}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def guarded() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("has_file", "ok"), [(True, True), (False, False)])
def test_the_proof_sends_it(guarded: str, tmp_path: Path, has_file: bool, ok: bool) -> None:  # noqa: FBT001
    (tmp_path / KEY_FILE).write_text(KEY)
    endpoint = Endpoint("h", guarded, "m", 2, "hello", 4)
    key_file = f"{tmp_path}/{KEY_FILE}" if has_file else ""
    script = smoke_script(endpoint, python=sys.executable, timeout_s=20, key_file=key_file)
    assert KEY not in script
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False)
    answer = read_answer(endpoint, Completed(done.returncode, done.stdout, done.stderr, b"", 0.0))
    assert answer.ok is ok
    assert ok or "401" in answer.error
