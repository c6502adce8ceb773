"""The scripts that bring files, environments and images to hosts, as text: what runs there is reviewed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from inventory.schema import Host
from launch.building.wheelhouses import reach_script
from playbooks.cargo import Cargo, CargoFile
from playbooks.environments import EnvironmentDefinition
from playbooks.images.image import Image
from playbooks.images.reference import parse_reference
from playbooks.ship import scripts
from playbooks.steps.image import loaded_image, pulled_image
from playbooks.steps.python_env import Sources, Wheelhouse, python_env
from playbooks.steps.shipped import shipped

FOLDER = Path(__file__).parent / "shipping"
STATE = "/var/lib/it's bringup"
CARGO = Cargo(
    f"{STATE}/wheelhouses/0123456789abcdef-cp312-x86_64",
    f"{STATE}/incoming/fedcba9876543210",
    (
        CargoFile("b-1.0-py3-none-any.whl", 20, "b" * 64, "http://index.test/b"),
        CargoFile("a-1.0+cpu-py3-none-any.whl", 10, "a" * 64, "http://index.test/a"),
    ),
)
WANTED = EnvironmentDefinition(
    name="vllm-1.0",
    vllm="1.0",
    says="1.0",
    requires_python=">=3.11,<3.14",
    python_minors=(11, 12, 13),
    lock="a==1.0 --hash=sha256:aa\n",
    apart=(),
    compiles=True,
    gpu_runtime="13.0",
    size_bytes=11_000_000_000,
    added={},
    digest="0123456789abcdef",
)
REFERENCE = parse_reference("vllm/vllm-openai:kimi-k31")
PULLED = pulled_image(REFERENCE, Image("sha256:" + "d" * 64), engine="docker", mirror="reg.test:5000/cache")
ARCHIVE = Cargo(f"{STATE}/images/x", f"{STATE}/incoming/x", (CargoFile("image.tar", 30, "c" * 64, "/home/image.tar"),))
LOADED = loaded_image(REFERENCE, Image(None, ("sha256:" + "e" * 64,)), engine="podman", cargo=ARCHIVE)
SHIPPED = shipped(CARGO, what="wheels", why="test", alone=True)
HOUSE = Wheelhouse(CARGO.folder, 12)

SCRIPTS = {
    "shipped": SHIPPED.script,
    "shipped-probe": SHIPPED.probe,
    "environment": python_env(WANTED, folder=f"{STATE}/envs/0", sources=Sources(), wheelhouse=HOUSE).script,
    "pull": PULLED.script,
    "pull-probe": PULLED.probe,
    "load": LOADED.script,
    "sizes": scripts.sizes_script(CARGO),
    "remove": scripts.remove_script(CARGO, ["a-1.0+cpu-py3-none-any.whl"]),
    "serve": scripts.serve_script(CARGO, "secret", ["10.2.0.1", "fd00::1"]),
    "end": scripts.end_script(CARGO),
    "try": scripts.try_script(CARGO, ["http://10.2.0.1:4000/secret/"]),
    "reach": reach_script(Host(name="tray1")),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script(name: str) -> None:
    """After a wanted change: `python -m tests.golden.test_shipping_scripts`."""
    assert SCRIPTS[name] == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_every_shell_can_parse_them(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    for text in SCRIPTS.values():
        argv = [program, *(["ash"] if shell == "busybox" else []), "-n"]
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=30)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str) -> None:
    """SC2086: names of files are plain ones (Cargo.manifest). SC2089, 2090: the path. SC2164: they run under -e."""
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")
    argv = [
        program,
        "--shell=sh",
        "--exclude=SC2086,SC2046,SC2317,SC2329,SC2089,SC2090,SC2164",
        "--severity=warning",
        "-",
    ]
    done = subprocess.run(argv, input=SCRIPTS[name], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for written, text in SCRIPTS.items():
        (FOLDER / f"{written}.txt").write_text(text, encoding="utf-8")
