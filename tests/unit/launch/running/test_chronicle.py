"""What changed from one generation to the next, and no secret among it."""

from __future__ import annotations

from dataclasses import replace

from launch.building.command import HostCommand
from launch.building.unit import UnitSettings, command_file
from launch.running.chronicle import Remembered, differences, events, read, rows
from launch.running.history import History
from tests.unit.launch.running.test_history import DEPLOY, STOP

AUDIT = (
    "2026-11-30T00:30:00Z ada@control run 99990000 install tuning: done",
    "2026-11-30T01:00:00Z ada@control run aaaa1111 deploy trial: done",
    "2026-11-30T00:40:00Z eve@control run 88880000 deploy another: done",
    "not a line of ours",
)


def command(tokens: str, **env: str) -> str:
    settings = UnitSettings("trial", "g1", "/s/deployments/trial/g1", "root")
    argv = ("/e/vllm", "serve", "/m", "--max-model-len", tokens, "--enforce-eager")
    return command_file(HostCommand("tray1", tuple(env.items()), argv), settings)


def test_options_and_variables_that_came_and_went_are_named() -> None:
    told = differences(command("4096", A="1"), command("8192", A="1", B="2"))
    assert told == ("- --max-model-len 4096", "+ B=2", "+ --max-model-len 8192")
    assert differences(command("1"), command("1")) == ()
    assert differences("", command("1")) == ()


def test_the_value_of_a_secret_is_never_shown() -> None:
    told = differences(command("1"), command("1", HF_TOKEN="hf_planted"))  # noqa: S106  (planted)
    assert told == ("+ HF_TOKEN=***",)


def test_everything_is_told_once_the_newest_first() -> None:
    newer = replace(DEPLOY, generation="g2", run="cccc3333", at="2026-11-30T03:00:00Z")
    commands = {"g1": command("4096"), "g2": command("8192")}
    one = Remembered(History((DEPLOY, STOP, newer)), AUDIT, commands)
    told = events("trial", {"tray1": one, "tray2": replace(one, audit=())})
    assert [(event.verb, event.generation) for event in told] == [
        ("deploy", "g2"),
        ("stop", "g1"),
        ("deploy", "g1"),
        ("install", ""),
    ]
    assert told[0].changed == ("- --max-model-len 4096", "+ --max-model-len 8192")
    assert told[0].hosts == ("tray1", "tray2")
    assert told[3].hosts == ("tray1",)
    columns, table = rows(told)
    assert dict(zip(columns, table[2], strict=True))["ready"] == "96 s cold"


def test_an_answer_is_read_in_its_parts() -> None:
    text = f"{DEPLOY.to_line()}\tk\tb\td\nnow\tk\tb\td\n== audit\n{AUDIT[0]}\n== command g1\n{command('4096')}"
    told = read(text)
    assert [one.run for one in told.history.entries] == ["aaaa1111"]
    assert told.audit == (AUDIT[0],)
    assert "--max-model-len 4096" in told.commands["g1"]
