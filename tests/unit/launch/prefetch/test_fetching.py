"""Two hosts that are this machine twice, each with a state folder of its own: the real client, jobs and spread."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from inventory.errors import BringupError
from inventory.fleet import Fleet
from inventory.schema import Host, Mirrors
from inventory.secret import Secret, Url
from launch.console.report import Report
from launch.prefetch.fetching import Fetching
from launch.prefetch.look import Asked, Seen, look, look_each
from launch.prefetch.manifest import Manifest
from launch.prefetch.plan import Asking, CheckpointPlan, planned
from launch.prefetch.progress import Progress
from launch.prefetch.source import Fetch, Origin, Source
from launch.prefetch.tools import client_folder
from playbooks.control import this_run
from playbooks.steps.python_env import MARKER
from tests.hub import Hub, made_files, serving
from tests.unit.launch.prefetch.hosted import REPO, holds, manifest_of

pytestmark = pytest.mark.timeout(300)
FILES = made_files(400_000, 3, seed=3)
ADDRESSES = {"one": "127.0.0.1", "two": "127.0.0.2"}
RIGHT = "hf_right"


@dataclass(slots=True)
class Two:
    fleet: Fleet
    hub: Hub
    manifest: Manifest

    def folder(self, host: str) -> Path:
        return Path(self.fleet.hosts[host].state_dir) / "weights" / "made--up" / self.manifest.commit

    def asked(self, source: Source) -> dict[str, Asked]:
        return {
            name: Asked(host.state_dir, str(self.folder(name)), (client_folder(host),), at=source.folder)
            for name, host in self.fleet.hosts.items()
        }

    def plan(self, fetch: Fetch, source: Source) -> CheckpointPlan:
        seen = look(self.fleet, self.asked(source))
        folders = {name: str(self.folder(name)) for name in self.fleet.hosts}
        clients = {name: one.tool or "" for name, one in seen.items()}
        return planned(Asking(self.manifest, fetch, source, folders, tuple(folders), None, clients), seen)

    def fetch(self, fetch: Fetch = Fetch.HUB_ONCE, source: Source | None = None) -> None:
        source = source or Source()
        plan = self.plan(fetch, source)

        def again(fleet: Fleet, _: CheckpointPlan) -> Mapping[str, Seen | BringupError]:
            return look_each(fleet, self.asked(Source()))

        progress = Progress(Report(quiet=True), json_lines=False)
        work = Fetching(plan, None, self.fleet, progress, this_run("a test"))
        work.carry_out(Secret(RIGHT), {}, ADDRESSES, again)

    def is_right(self) -> bool:
        return all(holds(self.folder(name), FILES) for name in self.fleet.hosts)

    @property
    def sent(self) -> int:
        return sum(self.hub.sent.values())


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    with serving() as hub:
        commit = hub.add(REPO, FILES, token=RIGHT)
        hosts = [
            Host(name=name, transport="local", state_dir=str(tmp_path / name), mirrors=Mirrors(hub=Url(hub.url)))
            for name in ADDRESSES
        ]
        for host in hosts:
            client = Path(client_folder(host))
            client.mkdir(parents=True)
            (client / "bin").symlink_to(Path(sys.executable).parent)
            (client / MARKER).write_text("{}")
        with Fleet(hosts) as fleet:
            yield Two(fleet, hub, manifest_of(FILES, commit))


def laid(folder: Path) -> Source:
    for path, data in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return Source(Origin.FOLDER, str(folder))


def test_shares_add_up_and_go_round_then_harm_is_mended_by_the_other_host(two: Two) -> None:
    two.fetch()
    assert two.is_right()
    assert two.sent == sum(map(len, FILES.values())), "each byte came from outside once"
    assert not two.plan(Fetch.HUB_ONCE, Source()).pending

    (two.folder("two") / "model-00002-of-00003.safetensors").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\n"
    )
    (two.folder("one") / ".bringup-manifest.json").unlink()
    assert two.plan(Fetch.HUB_ONCE, Source()).pending
    two.fetch()
    assert two.is_right()
    assert two.sent == sum(map(len, FILES.values()))
    assert not list(two.folder("one").parent.parent.rglob("token"))


def test_pushed_from_a_folder_of_this_machine(two: Two, tmp_path: Path) -> None:
    two.manifest = manifest_of(FILES, "5" * 40, lfs_from=0)
    two.fetch(Fetch.PUSH, laid(tmp_path / "here"))
    assert two.is_right()
    assert not two.hub.asked


def test_a_common_folder_stays_where_it_is(two: Two, tmp_path: Path) -> None:
    two.manifest = manifest_of(FILES, "6" * 40, lfs_from=0)
    two.fetch(Fetch.SHARED, laid(tmp_path / "nfs"))
    assert two.is_right()
    assert all((two.folder(name) / "config.json").is_symlink() for name in ADDRESSES)


def test_a_hub_that_refuses_one_host_ends_with_its_name_and_keeps_what_came(two: Two) -> None:
    two.hub.repos[REPO].gated = True
    with pytest.raises(BringupError) as caught:
        two.fetch()
    assert "hub-gated" in str(caught.value)
    two.hub.repos[REPO].gated = False
    two.fetch(Fetch.HUB_EACH)
    assert two.is_right()
