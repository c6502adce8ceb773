"""The scripts, run in a real shell on this machine, and the judgement of every answer."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.facts.base import Unknown, Why
from playbooks.checks.active import (
    ACTIVE,
    HOST_TRIALS,
    net_outbound,
    net_path_mtu,
    rt_docker_gpu,
    rt_import_smoke,
    sto_deep_verify,
    sto_read_rate,
)
from playbooks.checks.active.base import HostTrial, Said
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, ExpectedWeights, HostRequirements
from tests.unit.playbooks.checks.gang import gang_needs, tray_needs

ROOT = Path(__file__).resolve().parents[5]
GONE = Unknown(Why.TIMED_OUT, "no answer")
NEEDS = gang_needs()
COMMIT = "a" * 40


def ran(script: str | Finding) -> Said:
    assert isinstance(script, str)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    return Said(done.returncode, done.stdout, done.stderr)


def tried(trial: HostTrial, host: HostRequirements) -> Finding:
    script = trial.script(host, NEEDS)
    return script if isinstance(script, Finding) else trial.judge(ran(script), host, NEEDS)


@pytest.mark.parametrize("trial", HOST_TRIALS, ids=lambda one: one.ID)
def test_a_host_that_does_not_answer_is_unknown(trial: HostTrial) -> None:
    assert trial.judge(GONE, tray_needs(), NEEDS).status is Status.UNKNOWN


def test_every_module_is_listed_has_a_runbook_and_a_deadline() -> None:
    folder = ROOT / "playbooks/checks/active"
    modules = {path.stem for path in folder.glob("*.py") if "\nID = " in path.read_text(encoding="utf-8")}
    assert modules == {name.replace(".", "_") for name in ACTIVE}
    for check in ACTIVE.values():
        assert 0 < check.DEADLINE_S <= 900
        assert (ROOT / f"docs/runbooks/{check.ID}.md").is_file()
        assert check.WHY[0].islower()


def with_weights(folder: Path) -> HostRequirements:
    return replace(tray_needs(), weights=ExpectedWeights("org/model", COMMIT, str(folder)))


def written(folder: Path, *, digest: str = "", commit: str = COMMIT) -> Path:
    data = b"x" * 5000
    (folder / "m.safetensors").write_bytes(data)
    files = [{"path": "m.safetensors", "size": 5000, "sha256": digest or hashlib.sha256(data).hexdigest()}]
    manifest = {"repo": "org/model", "commit": commit, "files": files}
    (folder / ".bringup-manifest.json").write_text(json.dumps(manifest))
    return folder


def test_every_byte_is_verified(tmp_path: Path) -> None:
    good = tried(sto_deep_verify, with_weights(written(tmp_path)))
    assert (good.status, good.observed) == (Status.PASS, "1 files, 0 MB, have their digests")


def test_a_wrong_digest_and_a_foreign_list_are_refused(tmp_path: Path) -> None:
    wrong = tried(sto_deep_verify, with_weights(written(tmp_path, digest="0" * 64)))
    assert (wrong.status, "m.safetensors digest" in wrong.observed) == (Status.FAIL, True)
    foreign = tried(sto_deep_verify, with_weights(written(tmp_path, commit="b" * 40)))
    assert (foreign.status, "b" * 40 in foreign.observed) == (Status.FAIL, True)
    (tmp_path / "m.safetensors").unlink()
    written(tmp_path)
    (tmp_path / "m.safetensors").unlink()
    assert "No such file" in tried(sto_deep_verify, with_weights(tmp_path)).observed


def test_what_was_not_reached_is_said(tmp_path: Path) -> None:
    host = with_weights(tmp_path)
    late = sto_deep_verify.judge(Said(0, "good 5\nlate\nlate\n"), host, NEEDS)
    assert (late.status, "no time for 2 more" in late.observed) == (Status.WARN, True)
    assert tried(sto_deep_verify, host).status is Status.SKIP  # no list yet
    assert tried(sto_deep_verify, tray_needs()).status is Status.SKIP


def test_reading_is_measured(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(b"\0" * (65 * 2**20))
    said = tried(sto_read_rate, with_weights(tmp_path))
    assert said.status is Status.PASS
    assert "/s" in said.observed
    assert tried(sto_read_rate, with_weights(tmp_path / "none")).status is Status.SKIP


def test_a_slow_disk_is_a_warning() -> None:
    slow = Said(0, f"total {900 * 10**6}\ntimes 100.0 110.0\nbytes {2 * 2**30}\n")
    finding = sto_read_rate.judge(slow, tray_needs(), NEEDS)
    assert (finding.status, "71.5 min" in finding.observed) == (Status.WARN, True)
    assert sto_read_rate.judge(Said(1, "", "dd: error"), tray_needs(), NEEDS).status is Status.UNKNOWN


def environment(
    folder: Path, *, cuda: str | None = "13.0", simulated: bool = False, broken: str = ""
) -> HostRequirements:
    """Modules that say what the real ones would, in an environment of the usual shape."""
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(sys.executable)
    (folder / "bringup-env.json").write_text(json.dumps({"vllm": "0.33.0", "simulated": simulated}))
    (folder / "torch.py").write_text(f"class version:\n    cuda = {cuda!r}\n    hip = None\n")
    (folder / "vllm").mkdir()
    (folder / "vllm/__init__.py").write_text(f"__version__ = '0.33.0'\n{broken}\n")
    (folder / "vllm/_C.py").write_text("" if cuda else "import os; os.abort()\n")  # for another processor
    (folder / "vllm/platforms.py").write_text("class current_platform:\n    import_kernels = staticmethod(int)\n")
    argv = (f"{folder}/bin/vllm", "serve", "m")
    return replace(tray_needs(), argv=argv, env=(("PYTHONPATH", str(folder)), ("HOME", "/nowhere")))


def test_the_environment_is_imported_with_the_plans_variables_alone(tmp_path: Path) -> None:
    said = tried(rt_import_smoke, environment(tmp_path))
    assert (said.status, said.observed) == (Status.PASS, "vLLM 0.33.0, torch for cuda 13.0")


def test_without_a_gpu_vllm_chooses_the_library_of_the_processor(tmp_path: Path) -> None:
    """The CPU build holds libraries of instructions that this processor may lack."""
    host = replace(environment(tmp_path, cuda=None), gpus=())
    assert tried(rt_import_smoke, host).observed == "vLLM 0.33.0, torch for CPUs"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"broken": "raise ImportError('libcudart.so.12: cannot open shared object file')"}, "libcudart.so.12"),
        ({"cuda": None}, "no GPU runtime"),
        ({"broken": "import os; os.abort()"}, "ended with status"),
    ],
)
def test_an_environment_that_is_broken_fails(tmp_path: Path, fields: dict[str, str], words: str) -> None:
    said = tried(rt_import_smoke, environment(tmp_path, **fields))  # type: ignore[arg-type]
    assert said.status is Status.FAIL
    assert words in said.observed


def test_what_is_not_there_yet_or_simulated_is_skipped(tmp_path: Path) -> None:
    assert tried(rt_import_smoke, environment(tmp_path, simulated=True)).status is Status.SKIP
    (tmp_path / "bringup-env.json").unlink()
    absent = replace(tray_needs(), argv=(f"{tmp_path}/bin/vllm", "serve"))
    assert "not there yet" in tried(rt_import_smoke, absent).observed
    assert tried(rt_import_smoke, tray_needs()).status is Status.SKIP
    assert rt_import_smoke.judge(Said(124, ""), absent, NEEDS).status is Status.UNKNOWN


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
def test_pings_over_loopback() -> None:
    hosts = (
        replace(NEEDS.hosts[0], address="127.0.0.1", interface="lo"),
        replace(NEEDS.hosts[1], address="127.0.0.2", interface="lo"),
    )
    needs = replace(NEEDS, hosts=hosts)
    said = ran(net_path_mtu.script(hosts[0], needs))
    assert said.value("mtu")
    assert net_path_mtu.judge(said, hosts[0], needs).status in {Status.PASS, Status.UNKNOWN, Status.FAIL}
    assert said.values("whole") or said.values("lost") or said.values("silent")


@pytest.mark.parametrize(
    ("out", "status", "words"),
    [
        ("mtu 9000\nwhole 10.10.0.12\n", Status.PASS, "reach 1 hosts"),
        ("mtu 9000\nlost 10.10.0.12\n", Status.FAIL, "do not get to tray2 (10.10.0.12)"),
        ("mtu 9000\nsilent 10.10.0.12\n", Status.UNKNOWN, "tray2 do not answer pings"),
        ("no-tool ping\n", Status.UNKNOWN, "ping"),
    ],
)
def test_what_pings_mean(out: str, status: Status, words: str) -> None:
    finding = net_path_mtu.judge(Said(0, out), tray_needs(), NEEDS)
    assert (finding.status, words in finding.observed) == (status, True)


def fetching(*urls: str) -> HostRequirements:
    return replace(tray_needs(), fetches_from=urls)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_source_that_is_not_there_is_a_warning() -> None:
    finding = tried(net_outbound, fetching("http://127.0.0.1:9/'it"))
    assert (finding.status, "no answer" in finding.observed) == (Status.WARN, True)


@pytest.mark.parametrize(
    ("out", "status"),
    [
        ("answer 200 https://hub.example\n", Status.PASS),
        ("answer 401 https://hub.example\n", Status.PASS),
        ("answer 503 https://hub.example\n", Status.WARN),
        ("answer 000 https://hub.example\n", Status.WARN),
        ("no-tool curl\n", Status.SKIP),
        ("", Status.UNKNOWN),
    ],
)
def test_what_answers_of_sources_mean(out: str, status: Status) -> None:
    assert net_outbound.judge(Said(0, out), fetching("https://hub.example"), NEEDS).status is status
    assert tried(net_outbound, fetching()).status is Status.SKIP


def test_the_container_is_tried_with_what_decides_alone() -> None:
    arguments = ("-d", "--name", "x", "--gpus", "all", "--restart=no", "-p", "8000:8000", "--ipc", "host")
    needs = replace(NEEDS, container=Container(image="reg/v", digest="sha256:1", arguments=arguments))
    script = rt_docker_gpu.script(tray_needs(), needs)
    assert isinstance(script, str)
    assert "docker run --rm --pull never --gpus all --ipc host --entrypoint /bin/sh reg/v@sha256:1 -c" in script
    assert isinstance(rt_docker_gpu.script(tray_needs(), NEEDS), Finding)


def test_an_image_that_the_plan_has_put_there_is_tried_by_the_name_that_ranks_use() -> None:
    container = Container(
        image="reg/v", digest="sha256:1", arguments=(), started_by="bringup/v:0123456789ab", engine="podman"
    )
    script = rt_docker_gpu.script(tray_needs(), replace(NEEDS, container=container))
    assert isinstance(script, str)
    assert "podman image inspect bringup/v:0123456789ab " in script
    assert "podman run --rm --pull never --entrypoint /bin/sh bringup/v:0123456789ab -c" in script
    assert "reg/v" not in script


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (Said(0, "".join(f"/dev/nvidia{i}\n" for i in range(4))), Status.PASS, "4 GPUs"),
        (Said(0, "".join(f"/dev/dri/renderD{128 + i}\n" for i in range(4))), Status.PASS, "4 GPUs"),
        (Said(0, "/dev/nvidia0\n/dev/nvidiactl\n"), Status.FAIL, "sees 1 GPUs"),
        (Said(125, "", "docker: could not select device driver"), Status.FAIL, "could not select device driver"),
        (Said(0, "absent\n"), Status.SKIP, "not there yet"),
        (Said(0, "no-tool docker\n"), Status.UNKNOWN, "no docker"),
    ],
)
def test_what_a_container_sees(said: Said, status: Status, words: str) -> None:
    finding = rt_docker_gpu.judge(said, tray_needs(), NEEDS)
    assert (finding.status, words in finding.observed) == (status, True)
