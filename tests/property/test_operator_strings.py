"""Whatever passes the frontier reaches the engine, the unit, the container, Prometheus and clients as it is.

The scripts are run by the real shell, YAML is read by a YAML reader, JSON by a JSON reader. What the frontier itself
refuses is told with the functions that refuse it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory import hostsfile, names, yamlfile
from inventory.errors import BadInput, Several
from launch.building.command import HostCommand
from launch.building.container import ContainerRun
from launch.building.generation import read_generation
from launch.building.unit import UnitSettings, command_file, unit_file
from launch.planned.lora import adapters_of
from launch.request import deployment_name
from launch.serving.clients import Served, claude_code, curl, openai
from launch.serving.endpoints import ask_script
from launch.serving.monitoring.alerts import Limits
from launch.serving.monitoring.export import files
from launch.serving.stored_command import read_command
from playbooks.layout import Layout
from tests.property.operator_strings import HOSTILE, PRINTABLE, PWNED, TEXT, let_in
from tests.unit.launch.serving.gang import GANG
from tests.unit.playbooks.sh import sh

PROGRAM = '#!/bin/sh\nenv -0 >"$0.env"\nprintf "%s\\0" "$@" >"$0.argv"\n'
FEW = settings(max_examples=40, deadline=None)
VARIABLES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True).filter(
    lambda name: not names.is_secret(name) and name not in {"_", "PWD", "SHLVL", "OLDPWD", "PATH", "HOME"}
)
ENVIRONMENT = st.dictionaries(VARIABLES.map(lambda name: f"X{name}"), PRINTABLE, max_size=4)


@pytest.fixture(autouse=True)
def nothing_breaks_out() -> Iterator[None]:
    """No text of these is run by anybody."""
    yield
    broken_out = Path(PWNED).exists()
    Path(PWNED).unlink(missing_ok=True)
    assert not broken_out


@contextmanager
def engine(name: str) -> Iterator[Path]:
    """A program of this name that writes down which words and which environment it was given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(PROGRAM)
        path.chmod(0o755)
        yield path


def told(path: Path, what: str) -> list[str]:
    return Path(f"{path}.{what}").read_bytes().decode().split("\0")[:-1]


@FEW
@given(env=ENVIRONMENT, argv=st.lists(TEXT, max_size=5), model=TEXT)
def test_the_engine_gets_its_words_and_its_environment_as_they_are(
    env: dict[str, str], argv: list[str], model: str
) -> None:
    with engine("vllm") as vllm:
        command = HostCommand("tray1", tuple(env.items()), (str(vllm), "serve", model, *argv))
        text = command_file(command, UnitSettings("trial", "g1", str(vllm.parent), "root"))
        done = sh(text)
        assert done.returncode == 0, done.stderr
        assert told(vllm, "argv") == ["serve", model, *argv]
        got = dict(one.split("=", 1) for one in told(vllm, "env"))
        assert {key: value for key, value in got.items() if key.startswith("X")} == env
        stored = read_command(text)
        if "\n" not in [model, *argv]:  # bringup's own words hold none; the reader takes it for a line that goes on
            assert stored
            assert (stored.env, stored.model, list(stored.options)) == (env, model, argv)


@FEW
@given(env=ENVIRONMENT, argv=st.lists(TEXT, max_size=5), folder=PRINTABLE.filter(lambda text: ":" not in text))
def test_a_container_gets_the_same(env: dict[str, str], argv: list[str], folder: str) -> None:
    with engine("docker") as docker:
        run = ContainerRun(str(docker), "image:tag", folders=((f"/{folder}", False),))
        command = HostCommand("tray1", tuple(env.items()), ("/e/vllm", "serve", "/model", *argv))
        done = sh(command_file(command, UnitSettings("trial", "g1", str(docker.parent), "root", container=run)))
        assert done.returncode == 0, done.stderr
        words = told(docker, "argv")
        behind = words.index("image:tag") + 1
        assert words[behind:] == ["serve", "/model", *argv]
        options = list(pairwise(words))
        assert f"/{folder}:/{folder}:ro" in [value for flag, value in options if flag == "--volume"]
        for key, value in env.items():
            assert ("--env", f"{key}={value}") in options


@given(text=TEXT, place=st.sampled_from(["name", "user", "folder", "all"]))
def test_no_text_adds_a_line_to_a_unit(text: str, place: str) -> None:
    plain = UnitSettings("trial", "g1", "/var/lib/bringup/deployments/trial/g1", "root")
    name = let_in(deployment_name, text, "trial") if place in {"name", "all"} else "trial"
    user = let_in(names.user, text, "root") if place in {"user", "all"} else "root"
    folder = let_in(names.state_dir, f"/{text}", "/var/lib/x") if place in {"folder", "all"} else "/var/lib/x"
    odd = unit_file(UnitSettings(name or "trial", "g1", folder, user))
    assert keys(odd) == keys(unit_file(plain))


def keys(unit: str) -> list[str]:
    return [line.partition("=")[0] for line in unit.splitlines()]


@given(st.sampled_from(["name", "generation", "recipe", "variant", "strategy", "vllm", "served_name"]), TEXT)
def test_a_record_that_a_host_tells_is_refused_or_harmless(part: str, text: str) -> None:
    harmless_or_refused({part: text})


@given(st.sampled_from(["host", "url", "python", "supervisor", "address"]), TEXT)
def test_a_member_that_a_host_tells_is_refused_or_harmless(part: str, text: str) -> None:
    harmless_or_refused({"members": [{**asdict(GANG.members[0]), part: text}]})


def harmless_or_refused(edit: dict[str, Any]) -> None:
    """What a record says goes into files of Prometheus: they have the same keys whatever stands in it."""
    line = json.dumps({**json.loads(GANG.to_line("tray1")), **edit})
    try:
        gang = read_generation(line, "tray1")
    except BadInput:
        return
    texts = files(gang, Limits(1.0, 1.0), scrape_s=15)
    for name, text in files(GANG, Limits(1.0, 1.0), scrape_s=15).items():
        assert shape(yaml.safe_load(texts[name])) == shape(yaml.safe_load(text))
    scraped = yaml.safe_load(texts["prometheus.yml"])["scrape_configs"][0]
    assert scraped["job_name"] == f"vllm-{gang.name}"
    if gang.members[0].url:
        assert scraped["static_configs"][0]["labels"]["recipe"] == gang.recipe


def shape(document: object) -> object:
    """The keys of a document and how many entries it has, without what stands in them."""
    if isinstance(document, dict):
        return {key: shape(value) for key, value in document.items() if key not in {"targets", "static_configs"}}
    return [shape(one) for one in document] if isinstance(document, list) else None


@FEW
@given(model=TEXT, key_file=TEXT.map(lambda text: text.replace("/", "_")), asks=st.booleans())
def test_a_client_that_runs_what_is_printed_gets_the_name_as_it_is(model: str, key_file: str, asks: bool) -> None:  # noqa: FBT001
    with engine("client") as client:
        secret = client.parent / f"k{key_file[:20]}"
        secret.write_text("key-of-a-client\n")
        one = Served(("http://10.0.0.1:8000",), model, "0.33.0", asks, str(secret), None, None)
        for printed, variable in (
            (claude_code(one).removesuffix("claude"), "ANTHROPIC_DEFAULT_OPUS_MODEL"),
            (openai(one) + "\n", "OPENAI_MODEL"),
        ):
            done = sh(f"{printed}\n{client}\n")
            assert done.returncode == 0, done.stderr
            got = dict(entry.split("=", 1) for entry in told(client, "env"))
            assert got[variable] == model
            assert got[f"{variable.partition('_')[0]}_{'API_KEY' if 'OPENAI' in variable else 'AUTH_TOKEN'}"] == (
                "key-of-a-client" if asks else "unused"
            )
        done = sh(curl(one).replace("curl --", f"{client} --"))
        assert done.returncode == 0, done.stderr
        words = told(client, "argv")
        assert json.loads(words[words.index("-d") + 1])["model"] == model
        assert "key-of-a-client" not in words


@given(TEXT, TEXT)
def test_adapters_are_names_and_paths_or_refused(name: str, path: str) -> None:
    try:
        found = adapters_of(f"{name}=/{path}")
    except BadInput:
        return
    for one, where in found.items():
        assert not {*one} & {*"'\"$`;&|<>\\/ \n:"}
        assert where.startswith("/")
        assert not any(character.isspace() for character in where)


@FEW
@given(body=st.dictionaries(st.sampled_from(["lora_name", "model"]), TEXT, min_size=1), path=HOSTILE)
def test_a_request_carries_any_name_as_it_is(body: dict[str, str], path: str) -> None:
    with engine("python") as python:
        python.write_text('#!/bin/sh\ncat <&3 >"$0.body"; printf "%s\\0" "$@" >"$0.argv"; cat >/dev/null\n')
        script = ask_script(str(python), ("http://h:1",), path, body=body, timeout_s=1, key_file="")
        done = sh(script)
        assert done.returncode == 0, done.stderr
        assert json.loads(Path(f"{python}.body").read_text()) == body
        assert told(python, "argv") == ["-", "POST", "http://h:1", path, "1", ""]


@given(
    name=TEXT, key=TEXT, value=TEXT, setting=st.sampled_from(["address", "user", "jump", "state_dir", "identity_file"])
)
def test_an_inventory_holds_what_it_was_given_or_refuses_it(name: str, key: str, value: str, setting: str) -> None:
    document = {"hosts": {name: {setting: value, "env": {key: value}}}}
    try:
        inventory = hostsfile.build(yamlfile.parse(json.dumps(document).encode(), "h.yaml"), None)
    except (BadInput, Several):
        return
    for host in inventory.hosts.values():
        assert host.name == name
        assert not name.startswith("-")
        assert dict(host.env) == {key: value}
        assert key.isidentifier()
        assert not any(character in name + host.address + (host.user or "") for character in " '\"$`;&|\n/")
        assert not host.address.startswith("-")


@given(TEXT)
def test_weights_lie_below_their_folder(repo: str) -> None:
    layout = Layout("/var/lib/bringup")
    if let_in(names.repository, repo, "") != repo or not repo:
        with pytest.raises(BadInput, match="none of a hub"):
            layout.weights(repo, "c" * 40)
        return
    folder = layout.weights(repo, "c" * 40)
    assert os.path.normpath(folder) == folder
    assert Path(folder).parents[1] == Path("/var/lib/bringup/weights")


def test_a_unit_with_odd_names_is_what_systemd_takes(tmp_path: Path) -> None:
    unit = tmp_path / "odd.service"
    folder = tmp_path / "100%h $HOME é"
    folder.mkdir()
    (folder / "command.sh").write_text("exec true\n")
    unit.write_text(unit_file(UnitSettings("trial.1-x", "g1", str(folder), "root")))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "odd.service" not in done.stderr, done.stderr


def test_a_name_with_a_line_of_its_own_is_refused_whole() -> None:
    line = json.loads(GANG.to_line("tray1"))
    for gang in (replace(GANG, name="a\nscrape_configs: []"), replace(GANG, served_name="x\x1b[2J")):
        with pytest.raises(BadInput, match="cannot be read"):
            read_generation(json.dumps({**line, **asdict(gang)}), "tray1")
