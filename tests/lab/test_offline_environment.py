"""Two hosts without a route out: wheels from an index that this machine alone reaches, installed without a network."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.errors import BringupError, raise_all
from inventory.fleet import Fleet
from inventory.load import load
from inventory.schema import Host, Mirrors
from inventory.secret import Url
from launch.building import offline
from launch.building.command import Program
from launch.building.engine import Engine
from launch.building.offline import cargo_of, target_of, with_wheelhouse
from launch.building.requirements import Download
from launch.building.wheelhouses import reach_script, wheels
from launch.hosts.gather import gather_all
from playbooks.apply import apply, finish_running_jobs
from playbooks.environments import EnvironmentDefinition
from playbooks.plan import FORMAT_VERSION, Change, Plan, Step, changes_for
from playbooks.probes import probe_script, read_states
from playbooks.steps.python_env import Sources, python_env
from tests.lab.conftest import on
from tests.lab.trial_environment import trial_environment
from tests.unit.playbooks.served import Page, Site, serving
from tests.unit.playbooks.steps.test_python_env import ENGINE
from tests.unit.playbooks.test_apply import Notes
from tests.unit.playbooks.wheel import make_uv_wheel, make_wheel, real_uv

if TYPE_CHECKING:
    from inventory.lab.state import Lab
    from inventory.transport.base import Completed, Transport
    from tests.lab.conftest import MakeLab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]
STATE = "/var/lib/bringup"


def asked(transport: Transport, script: str) -> Completed:
    return transport.run(script, timeout=30)


@dataclass(slots=True)
class Trial:
    """An index on loopback, the lab, and what is wanted on its hosts."""

    lab: Lab
    site: Site
    wanted: EnvironmentDefinition
    cache: Path

    def hosts(self) -> list[Host]:
        mirrors = Mirrors(pypi=Url(f"{self.site.url}/simple"))
        listed = load(self.lab.inventory).resolve("tray1,tray2")
        return [host.model_copy(update={"mirrors": mirrors}) for host in listed]

    def steps(self, fleet: Fleet) -> dict[str, tuple[Step, ...]]:
        facts, errors = gather_all(fleet)
        raise_all(list(errors.values()))
        addresses = {one.name: one.fabric for one in self.lab.hosts}
        found = {}
        for name, host in fleet.hosts.items():
            folder = f"{STATE}/envs/{self.wanted.digest}"
            env = python_env(self.wanted, folder=folder, sources=Sources())
            download = Download("environment", folder, 1000, present=False)
            engine = Engine(
                digest=self.wanted.digest,
                gpu_runtime=None,
                program=Program("vllm", "m", "c", "s"),
                python=f"{folder}/bin/python",
                steps=(env,),
                downloads=(download,),
                wanted=self.wanted,
                environment=folder,
            )
            target = target_of(facts[name], self.wanted)
            cargo = cargo_of(host, self.wanted, target, wheels(self.wanted, target, host), addresses)
            found[name] = with_wheelhouse(engine, cargo, target).steps
        return found

    def plan(self, fleet: Fleet) -> Plan:
        changes: list[Change] = []
        for host, steps in self.steps(fleet).items():
            script = probe_script(steps)
            answer = fleet.each(partial(asked, script=script), [host])[host]
            assert not isinstance(answer, BringupError)
            changes += changes_for(host, steps, read_states(steps, answer.text))
        return Plan(FORMAT_VERSION, "d", "g", "x", tuple(fleet.hosts), (), tuple(changes))

    def install(self) -> Plan:
        """As one process does it; returns the plan that it carried out."""
        os.environ["XDG_CACHE_HOME"] = str(self.cache)
        with Fleet(self.hosts()) as fleet:
            fleet.each(lambda t: finish_running_jobs(t, state_dir=STATE, told=lambda _: None))
            made = self.plan(fleet)
            run = f"run{time.monotonic_ns()}"
            apply(made, fleet, run=run, state_dirs=fleet.state_dirs, progress=Notes([], []))
            return made

    def says(self, host: str) -> str:
        return on(self.lab, host, f"env -i {STATE}/envs/{self.wanted.digest}/bin/vllm --version").stdout


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    return make_lab(2, "cpu")


@pytest.fixture
def trial(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    uv = real_uv()
    if uv is None:
        pytest.skip("uv is not here as a program")
    for host in lab.hosts:
        on(lab, host.name, f"rm -rf {STATE}/*")
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/cache")
    with serving() as site:
        engine = make_wheel(tmp_path, "trial_engine", "1.0", module=ENGINE, program="vllm")
        helper = make_wheel(tmp_path, "helper", "2.0", module="VERSION = '1.0+trial'\n")
        tool = make_uv_wheel(tmp_path, uv)
        lock = "".join(f"{one.requirement} --hash=sha256:{one.sha256}\n" for one in (engine, helper))
        (tmp_path / "uv.txt").write_text(f"{tool.requirement} --hash=sha256:{tool.sha256}\n")
        monkeypatch.setattr(offline, "UV_LOCK", tmp_path / "uv.txt")
        for path in tmp_path.glob("*.whl"):
            name = path.name.partition("-")[0].replace("_", "-")
            data = path.read_bytes()
            told = {"filename": path.name, "url": f"/f/{path.name}", "size": len(data)}
            told |= {"hashes": {"sha256": hashlib.sha256(data).hexdigest()}}
            page = json.dumps({"files": [told]}).encode()
            site.pages[f"/simple/{name}/"] = Page(page, kind="application/vnd.pypi.simple.v1+json")
            site.pages[f"/f/{path.name}"] = Page(data)
        yield Trial(lab, site, trial_environment(lock), tmp_path / "cache")


def test_hosts_without_a_way_out_are_seen_as_such_and_install_all_the_same(trial: Trial) -> None:
    with Fleet(trial.hosts()) as fleet:
        said = fleet.each(lambda t: t.run(reach_script(fleet.hosts[t.host]), timeout=20).text)
    assert all(str(one).startswith("unreached ") for one in said.values()), said

    made = trial.install()

    assert [change.id.partition(" ")[0] for change in made.changes] == ["shipped", "environment"] * 2
    assert "3 files" in made.changes[0].summary
    for host in ("tray1", "tray2"):
        assert trial.says(host).splitlines()[-1] == "1.0+trial"
        assert on(trial.lab, host, f"ls -A {STATE}/incoming").stdout == ""
        assert on(trial.lab, host, f"pgrep -f '[/]{STATE[1:]}/incoming'").stdout == "", "nobody lends any more"
    fetched = [path for path in trial.site.asked_paths() if path.startswith("/f/")]
    assert sorted(fetched) == sorted(set(fetched)), "the index gives every file once, whatever the number of hosts"
    with Fleet(trial.hosts()) as fleet:
        assert trial.plan(fleet).empty


def test_an_earlier_environment_stays_beside_the_new_one(trial: Trial) -> None:
    trial.install()
    first = trial.wanted.digest
    trial.wanted = replace(trial.wanted, digest="f" * 16)
    trial.install()
    for digest in (first, "f" * 16):
        assert "1.0+trial" in on(trial.lab, "tray2", f"{STATE}/envs/{digest}/bin/vllm --version").stdout


def test_a_control_process_that_is_killed_in_the_middle_leaves_nothing_half_done(trial: Trial) -> None:
    """Killed while the first host is sent to, while the other fetches, and while they install."""
    for moment in ('test -n "$(ls {s}/incoming 2>/dev/null)"', "ls {s}/wheelhouses", "ls {s}/envs"):  # fmt: skip
        process = multiprocessing.get_context("fork").Process(target=trial.install)
        process.start()
        waited = on(trial.lab, "tray1", f"for i in $(seq 300); do {moment.format(s=STATE)} && exit; sleep 0.02; done")
        assert waited.returncode == 0
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        assert "marker" not in on(trial.lab, "tray1", f"cat {STATE}/envs/*/bringup-env.json").stdout

    trial.install()

    for host in ("tray1", "tray2"):
        assert trial.says(host).splitlines()[-1] == "1.0+trial"
    with Fleet(trial.hosts()) as fleet:
        assert trial.plan(fleet).empty


def test_a_wheel_that_was_changed_on_a_host_is_refused_and_the_next_run_mends_it(trial: Trial) -> None:
    with Fleet(trial.hosts()) as fleet:
        cargo = next(one.cargo for one in trial.plan(fleet).changes if one.cargo)
    name = next(one.name for one in cargo.files if one.name.startswith("helper"))
    size = next(one.size for one in cargo.files if one.name == name)
    on(trial.lab, "tray2", f"mkdir -p {cargo.incoming}; head -c {size} /dev/urandom >{cargo.incoming}/{name}")
    with pytest.raises(BringupError) as caught:
        trial.install()
    assert caught.value.id == "checksum-mismatch"
    assert "tray2: a file that came to the host is not the one of the plan" in str(caught.value)
    assert name in str(caught.value)
    assert on(trial.lab, "tray2", f"ls {STATE}/envs").stdout == "", "nothing was installed there"
    trial.install()
    assert trial.says("tray2").splitlines()[-1] == "1.0+trial"


def test_hosts_that_do_not_reach_each_other_are_given_everything_from_here(trial: Trial) -> None:
    rules = (
        "add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in iif fab0 drop"
    )
    assert on(trial.lab, "tray1", f"nft '{rules}'").returncode == 0
    try:
        trial.install()
    finally:
        on(trial.lab, "tray1", "nft delete table inet t")
    assert trial.says("tray2").splitlines()[-1] == "1.0+trial"


def test_the_sums_on_the_host_are_those_of_the_lock(trial: Trial) -> None:
    trial.install()
    listed = on(trial.lab, "tray2", f"cd {STATE}/wheelhouses/* && sha256sum -c --quiet MANIFEST && cat MANIFEST")
    assert listed.returncode == 0, listed.stderr
    sums = {line.split()[0] for line in listed.stdout.splitlines()}
    assert all(one.partition("sha256:")[2] in sums for one in trial.wanted.lock.splitlines())
