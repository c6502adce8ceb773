from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Environment, Software, Weights
from inventory.facts.software import read_software
from tests.answered import Said, answers

ABSENT: Said = (2, "ls: cannot access '/var/lib/bringup/envs': No such file or directory")
HOST: dict[str, Said] = {
    "software.systemd": "systemd 255 (255.4-1ubuntu8)\n+PAM\n",
    "software.systemd-state": "degraded\n",
    "software.python": "Python 3.12.3\n",
    "software.uv": "uv 0.9.2 (x86_64-unknown-linux-gnu)\n",
    "containers.docker": "28.3.2\n",
    "containers.podman": (127, "podman: not found"),
    "system.container": "",
    "state.environments-folder": "aaa\nbbb\n",
    "state.environment.1": '/s/envs/aaa/\n{"format_version": 1, "vllm": "0.32.0", "simulated": true}\n',
    "state.environment.2": (1, "cat: bringup-env.json: No such file or directory"),
    "state.weights-folder": ABSENT,
}


def read(items: dict[str, Said]) -> Software:
    software = read_software(answers(items))
    assert not isinstance(software, Unknown)
    return software


def test_versions() -> None:
    software = read(HOST)
    assert (software.systemd, software.docker, software.podman) == ("255", "28.3.2", None)
    assert (software.python, software.uv, software.container) == ("3.12.3", "0.9.2", None)


def test_systemd_counts_only_as_pid_1() -> None:
    assert read({**HOST, "software.systemd-state": "offline\n"}).systemd is None


def test_containers_and_labs() -> None:
    assert read({**HOST, "system.container": "lxc\n"}).container == "lxc"
    assert read({**HOST, "system.lab": "simulated=true\n"}).container == "lab"


def test_an_environment_without_its_marker_is_incomplete() -> None:
    assert read(HOST).environments == (
        Environment("aaa", "0.32.0", complete=True, simulated=True),
        Environment("", "", complete=False, simulated=False),
    )


def test_weights_need_their_manifest() -> None:
    manifest = (
        '/s/weights/o--m/abc/\n{"format_version":1,"repo":"o/m","commit":"abc","simulated":false,'
        '"files":[{"path":"a","size":3,"sha256":"00"},{"path":"b","size":4,"sha256":"00"}]}'
    )
    software = read(
        {
            **HOST,
            "state.weights-folder": "o--m\n",
            "state.weights.1": manifest,
            "state.weights.2": (1, "cat: .bringup-manifest.json: No such file or directory"),
            "state.weights.3": "/s/weights/o--n/abc/\n{cut off",
        }
    )
    assert software.weights == (Weights("o/m", "abc", 7, 2, simulated=False),)


def test_a_folder_that_may_not_be_read_is_not_empty() -> None:
    refused = read_software(answers({**HOST, "state.weights-folder": (2, "ls: weights: Permission denied")}))
    assert refused == Unknown(Why.REFUSED, "ls: weights: Permission denied")
