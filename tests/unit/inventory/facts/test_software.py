from __future__ import annotations

import pytest

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
    "docker.info": '{"ServerVersion":"28.3.2","Runtimes":null}\n',
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


CTK = "NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80a9b9d0db00d9b1d73c0128c8962c55f4d\n"
RUNTIMES = '{"ServerVersion":"28.3.2","Runtimes":{"runc":{},"nvidia":{"path":"nvidia-container-runtime"}}}\n'


def test_how_containers_get_gpus() -> None:
    software = read(
        {
            **HOST,
            "software.pip": "pip 24.0\n",
            "nvidia_services.container-toolkit": CTK,
            "docker.info": RUNTIMES,
            "containers.cdi": "/etc/cdi/nvidia.yaml\n/var/run/cdi/nvidia-container-toolkit.json\n",
        }
    )
    assert (software.pip, software.container_toolkit) == ("24.0", "1.17.8")
    assert software.docker_runtimes == ("nvidia", "runc")
    assert software.cdi_specs == ("/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia-container-toolkit.json")


@pytest.mark.parametrize("runtimes", ["", ',"Runtimes":null', ',"Runtimes":{}', ',"Runtimes":["runc"]'])
def test_runtimes_that_docker_does_not_tell_are_not_none(runtimes: str) -> None:
    software = read({**HOST, "docker.info": f'{{"ServerVersion":"28.3.2"{runtimes}}}\n'})
    assert (software.docker, software.docker_runtimes) == ("28.3.2", None)


@pytest.mark.parametrize("said", ["", '{"ServerVersion":""}\n', '{"Server', (1, "permission denied while trying")])
def test_a_client_without_a_daemon_runs_no_containers(said: Said) -> None:
    software = read({**HOST, "docker.info": said})
    assert (software.docker, software.docker_runtimes) == (None, None)


def test_a_host_that_has_none_of_it() -> None:
    software = read(
        {
            **HOST,
            "software.pip": (1, "ModuleNotFoundError: No module named 'pip'"),
            "nvidia_services.container-toolkit": (127, "./.sections: 9: nvidia-ctk: not found"),
            "containers.cdi": "",
        }
    )
    assert (software.pip, software.container_toolkit, software.docker_runtimes) == (None, None, None)
    assert software.cdi_specs == ()


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
