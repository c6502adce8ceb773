"""The step that makes an engine's environment, in a real shell with uv and with pip; its engine is a small wheel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from playbooks.environments import EnvironmentDefinition
from playbooks.plan import ABSENT, Step
from playbooks.steps.python_env import Sources, Wheelhouse, python_env
from tests.unit.playbooks.wheel import make_uv_wheel, make_wheel, real_uv

ENGINE = "import helper\ndef main():\n    print('a line that is not the version')\n    print(helper.VERSION)\n"
SYSTEM_PATH = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Trial:
    """An environment to make in `folder`, and the variables of the shell that makes it."""

    wanted: EnvironmentDefinition
    folder: Path
    env: Mapping[str, str]

    def step(self, sources: Sources | None = None) -> Step:
        return python_env(self.wanted, folder=str(self.folder), sources=sources or Sources())

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-eu"], input=script, env=self.env, capture_output=True, text=True, check=False, timeout=120
        )

    def make(self, sources: Sources | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(self.step(sources).script)

    @property
    def state(self) -> str:
        return self.run(self.step().probe).stdout


def with_uv(home: Path) -> dict[str, str]:
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "UV_OFFLINE": "1", "UV_CACHE_DIR": str(home / "cache")}
    if "UV" not in os.environ and not shutil.which("uv"):
        pytest.skip("uv is not here")
    return env | {"UV": os.environ.get("UV", "")}


def with_pip(home: Path) -> dict[str, str]:
    if shutil.which("uv", path=SYSTEM_PATH):
        pytest.skip("uv is in the system's own folders: nothing would use pip")
    if subprocess.run(
        ["/usr/bin/python3", "-c", "import ensurepip, venv"], capture_output=True, check=False
    ).returncode:
        pytest.skip("the system's Python has no venv (Debian package python3-venv)")
    return {"HOME": str(home), "PATH": SYSTEM_PATH, "PIP_NO_INDEX": "1"}


@pytest.fixture
def trial(tmp_path: Path, installer: str) -> Trial:
    env = with_uv(tmp_path) if installer == "uv" else with_pip(tmp_path)
    wheels = tmp_path / "wheels of a mirror"
    wheels.mkdir()
    engine = make_wheel(wheels, "trial_engine", "1.0", module=ENGINE, program="vllm")
    helper = make_wheel(wheels, "helper", "2.0", module="VERSION = '1.0+trial'\n")
    wanted = EnvironmentDefinition(
        name="trial-engine-1.0",
        vllm="1.0",
        says="1.0+trial",
        requires_python=">=3.11,<3.15",
        python_minors=(11, 12, 13, 14),
        lock=f"{engine.requirement} \\\n    --hash=sha256:{engine.sha256}\n",
        apart=(helper.requirement,),
        compiles=False,
        gpu_runtime=None,
        size_bytes=1_000_000,
        added={"stub-3.dist-info/METADATA": b"Metadata-Version: 2.1\nName: stub\nVersion: 3\n"},
        digest="0123456789abcdef",
    )
    return Trial(wanted, tmp_path / "it's state" / "envs" / wanted.digest, env | {"PIP_FIND_LINKS": wheels.as_uri()})


@pytest.fixture
def installer() -> str:
    return "uv"


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_an_environment_is_made_and_found_complete(trial: Trial) -> None:
    assert trial.state == "absent"

    made = trial.make()

    assert made.returncode == 0, made.stderr
    assert trial.state == trial.step().wanted == "complete 0123456789abcdef"
    marker = json.loads((trial.folder / "bringup-env.json").read_text())
    assert (marker["format_version"], marker["vllm"], marker["simulated"]) == (1, "1.0", False)
    asked = [f"{trial.folder}/bin/python", "-c", "from importlib.metadata import version; print(version('stub'))"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "3\n"
    assert list(trial.folder.rglob("helper.*.pyc")), "compiled now, so that ranks need not write here"


def test_an_environment_can_be_laid_elsewhere(trial: Trial, tmp_path: Path) -> None:
    assert trial.make().returncode == 0
    moved = trial.folder.rename(tmp_path / "elsewhere")
    said = subprocess.run([moved / "bin/vllm"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "1.0+trial"


def test_another_file_than_the_locked_one_is_refused_and_what_is_left_is_no_environment(trial: Trial) -> None:
    wrong = replace(trial.wanted, lock=trial.wanted.lock.replace("sha256:", "sha256:0000")[:-5] + "\n")

    refused = replace(trial, wanted=wrong).make()

    assert refused.returncode != 0
    assert "hash" in refused.stderr.lower()
    assert trial.state == "partial"
    assert trial.make().returncode == 0, "the next try starts afresh"
    assert trial.state == trial.step().wanted


def test_an_engine_of_another_version_than_wanted_is_refused(trial: Trial) -> None:
    refused = replace(trial, wanted=replace(trial.wanted, says="2.0")).make()

    assert refused.returncode != 0
    assert "1.0+trial, not 2.0" in refused.stderr
    assert trial.state == "partial"


def test_a_missing_wheel_of_torch_names_the_setting(trial: Trial) -> None:
    refused = replace(trial, wanted=replace(trial.wanted, apart=("torch==9.9+cpu",))).make()

    assert refused.returncode != 0
    assert "mirrors: torch:" in refused.stderr


def test_an_engine_that_does_not_start_shows_its_last_words(trial: Trial) -> None:
    refused = replace(trial, wanted=replace(trial.wanted, apart=())).make()

    assert refused.returncode != 0
    assert "No module named 'helper'" in refused.stderr
    assert "vllm does not work in the new environment" in refused.stderr


def test_an_environment_without_its_python_is_broken(trial: Trial) -> None:
    assert trial.make().returncode == 0
    (trial.folder / "bin/python").unlink()
    (trial.folder / "bin/python").symlink_to("/usr/bin/python3.of-before-the-upgrade")

    assert trial.state == "broken"
    assert trial.make().returncode == 0
    assert trial.state == trial.step().wanted


def test_sources_of_the_inventory_come_before_settings_of_the_host(trial: Trial) -> None:
    """Nothing answers at these addresses: that they are asked is all there is to see."""
    sources = Sources(index="http://127.0.0.1:9/pypi'; touch /tmp/no", torch_index="http://127.0.0.1:9/torch")
    online = {key: value for key, value in trial.env.items() if key not in {"UV_OFFLINE", "PIP_FIND_LINKS"}}

    refused = replace(trial, env=online | {"UV_HTTP_RETRIES": "0", "UV_DEFAULT_INDEX": "http://127.0.0.1:9/b"}).make(
        sources
    )

    assert refused.returncode != 0
    assert "127.0.0.1:9/pypi" in refused.stderr
    assert not Path("/tmp/no").exists()


def test_a_host_with_neither_a_python_that_will_do_nor_uv_is_told_what_to_install(trial: Trial, tmp_path: Path) -> None:
    for tool in ("mktemp", "rm", "mkdir", "dirname", "base64", "sed", "tr", "cat"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    wanted = replace(trial.wanted, python_minors=(99,))
    bare = {"HOME": str(tmp_path), "PATH": str(tmp_path)}

    refused = replace(trial, wanted=wanted, env=bare).make()

    assert refused.returncode != 0
    assert "no Python 3 of minor version 99" in refused.stderr
    assert "next: install" in refused.stderr
    assert trial.state == "absent"


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_a_wheelhouse_is_all_that_a_host_without_a_way_out_needs(trial: Trial, installer: str, tmp_path: Path) -> None:
    """The index of the host's own settings is one where nobody answers: asked at all, it would fail."""
    wheelhouse = tmp_path / "it's a wheelhouse"
    shutil.copytree(tmp_path / "wheels of a mirror", wheelhouse)
    if installer == "uv":
        uv = real_uv()
        if uv is None:
            pytest.skip("uv is not here as a program")
        make_uv_wheel(wheelhouse, uv)
    nowhere = dict.fromkeys(("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), "http://127.0.0.1:9/simple")
    asked = ["/usr/bin/python3", "-c", "import sys; print(sys.version_info[1])"]
    minor = int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    step = python_env(
        trial.wanted,
        folder=str(trial.folder),
        sources=Sources(index="http://127.0.0.1:9/never"),
        wheelhouse=Wheelhouse(str(wheelhouse), minor),
    )

    cut_off = trial.folder.parent.parent / "tools/bin/uv.4242"
    cut_off.parent.mkdir(parents=True)
    cut_off.write_bytes(b"half of it")

    made = replace(trial, env={"HOME": str(tmp_path), "PATH": SYSTEM_PATH, **nowhere}).run(step.script)

    assert made.returncode == 0, made.stderr
    assert trial.state == trial.step().wanted
    assert not list(tmp_path.rglob("*.cache")), "what was unpacked is in the environment, and nowhere else"
    assert cut_off.exists() is (installer == "pip"), "what a full disk left is removed before more is written"
    assert (trial.folder.parent.parent / "tools/bin/uv").exists() is (installer == "uv")


def archive_of_python(folder: Path) -> str:
    """An archive in the layout of the builds that are complete in one folder: its program is this interpreter."""
    name = "cpython-3.test-install_only_stripped.tar.gz"
    (folder / "python/bin").mkdir(parents=True)
    (folder / "python/bin/python3").symlink_to(Path(sys.executable).resolve())
    subprocess.run(["tar", "-C", str(folder), "-czf", str(folder / name), "python"], check=True)
    shutil.rmtree(folder / "python")
    return name


@pytest.mark.parametrize("installer", ["uv"])
def test_a_host_without_any_python_is_given_one(trial: Trial, tmp_path: Path) -> None:
    """On its PATH is nothing but a shell's tools, and a python3 that is too old."""
    uv = real_uv()
    if uv is None:
        pytest.skip("uv is not here as a program")
    wheelhouse = tmp_path / "wheelhouse"
    shutil.copytree(tmp_path / "wheels of a mirror", wheelhouse)
    make_uv_wheel(wheelhouse, uv)
    name = archive_of_python(wheelhouse)
    minor = sys.version_info.minor
    given = Wheelhouse(str(wheelhouse), minor, name)
    step = python_env(trial.wanted, folder=str(trial.folder), sources=Sources(), wheelhouse=given)
    # The host's own Pythons are not usable here, whatever this machine has.
    script = step.script.replace("find_python() {", "find_python() { return 1", 1)
    pythons = trial.folder.parent.parent / "pythons"
    (pythons / ".new.left").mkdir(parents=True)

    made = replace(trial, env={"HOME": str(tmp_path), "PATH": SYSTEM_PATH}).run(script)

    assert made.returncode == 0, made.stderr
    assert trial.state == trial.step().wanted
    assert [one.name for one in pythons.iterdir()] == [name.removesuffix(".tar.gz")], "what was cut off is gone"


@pytest.mark.parametrize("installer", ["uv"])
def test_a_python_that_came_and_does_not_run_is_refused(trial: Trial, tmp_path: Path) -> None:
    name = archive_of_python(tmp_path)
    given = Wheelhouse(str(tmp_path), 99, name)
    refused = trial.run(python_env(trial.wanted, folder=str(trial.folder), sources=Sources(), wheelhouse=given).script)
    assert refused.returncode != 0
    assert "does not run here" in refused.stderr
    assert trial.state == ABSENT


def test_a_host_without_the_python_of_its_wheelhouse_is_told_which(trial: Trial, tmp_path: Path) -> None:
    wheelhouse = Wheelhouse(str(tmp_path), 99)
    refused = trial.run(
        python_env(trial.wanted, folder=str(trial.folder), sources=Sources(), wheelhouse=wheelhouse).script
    )
    assert refused.returncode != 0
    assert "no Python 3.99" in refused.stderr
    assert "next: install python3.99" in refused.stderr
