"""The document: it holds what is decided, is the same for the same facts, and comes back as it was written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from inventory.facts.base import is_known
from inventory.facts.host import GpuProcess, HostFacts
from launch.choosing.outline import outline
from launch.plans.document import LaunchPlan
from launch.plans.make import plan_of
from launch.request import Request
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.plans.planned import OURS, plan
from tests.unit.launch.real_gangs import gang


def written(made: LaunchPlan) -> str:
    return json.dumps(to_jsonable_python(made), sort_keys=True)


def test_what_is_written_is_read_back() -> None:
    made = plan("deepseek-v4-pro", [4, 4])
    assert TypeAdapter(LaunchPlan).validate_python(json.loads(written(made))) == made


def test_the_layout_is_that_of_the_commands() -> None:
    made = plan("deepseek-v4-pro", [4, 4])
    layout = made.layout
    assert (layout.tensor_parallel, layout.data_parallel, layout.expert_parallel, layout.nodes) == (1, 8, 8, 2)
    assert (layout.load_balancing, layout.http_port, layout.rpc_port) == ("hybrid", 8000, 13345)
    assert [(host.name, host.role, host.node_rank) for host in made.hosts] == [
        ("tray1", "head", 0),
        ("tray2", "peer", 1),
    ]
    assert [(host.name, rank.index, rank.gpus) for host, rank in made.ranks()] == [
        *(("tray1", at, (at,)) for at in range(4)),
        *(("tray2", at + 4, (at,)) for at in range(4)),
    ]
    assert "--data-parallel-start-rank 4" in " ".join(made.hosts[1].argv)
    assert dict(made.hosts[1].env)["VLLM_HOST_IP"] == made.hosts[1].address == "10.1.0.2"


def test_a_rank_over_hosts_numbers_its_workers_through() -> None:
    made = plan("kimi-k3", [4, 4], "NVIDIA GB300")
    assert made.layout.hosts_per_rank == 2
    assert [(gpu.rank, gpu.worker) for host in made.hosts for gpu in host.gpus] == [(0, at) for at in range(8)]
    assert [host.role for host in made.hosts] == ["head", "follower"]
    assert made.hosts[1].url == ""


def test_numa_nodes_nics_and_links_of_a_whole_host() -> None:
    members, seen = gang("h200-hgx", 1)
    made = plan_of(outline(OURS.find("gpt-oss-120b"), Request("gpt-oss-120b"), members, seen), seen)
    (host,) = made.hosts
    assert [(node.id, node.gpus) for node in host.numa if node.gpus] == [(0, (0, 1, 2, 3)), (1, (4, 5, 6, 7))]
    assert host.processes.cores == 112
    assert host.processes.least_cores == 3
    assert [gpu.unused for gpu in host.gpus][1:] == ["the layout needs no more GPUs of this host"] * 7


def test_the_same_facts_make_the_same_bytes() -> None:
    assert written(plan("deepseek-v4-pro", [4, 4])) == written(plan("deepseek-v4-pro", [4, 4]))


def digest(seen: dict[str, HostFacts], members: list[object], **wanted: str) -> str:
    request = Request("deepseek-v4-pro")
    made = outline(OURS.find(request.model), request, members, seen)  # type: ignore[arg-type]
    return plan_of(made, seen, tuple(wanted.items())).inputs.digest


def test_the_digest_sees_what_the_plan_reads_and_nothing_else() -> None:
    members: list[object] = list(hosts(2))
    seen = facts(hosts(2), [4, 4])
    before = digest(seen, members)
    one = seen["tray1"]
    assert is_known(one.gpus)
    busy = tuple(replace(gpu, processes=(GpuProcess(1, "x", 2),)) for gpu in one.gpus.devices)
    later = replace(one, seconds=9.0, read_at=1.0, gpus=replace(one.gpus, devices=busy), noise="motd")
    assert digest({**seen, "tray1": later}, members) == before
    assert digest(seen, members, port="9000") != before
    bigger = tuple(replace(gpu, memory_bytes=1 << 38) for gpu in one.gpus.devices)
    assert digest({**seen, "tray1": replace(one, gpus=replace(one.gpus, devices=bigger))}, members) != before


def test_contested_figures_and_the_pinned_commit_are_in_it() -> None:
    made = plan("deepseek-v4-pro", [4, 4])
    assert "weights" in {one.what for one in made.contested}
    assert made.model.commit == "72e1d3230f6c080a530b0a1d46f8eb4602340597"
    assert made.engine.environment
    assert not made.engine.by_hand


@pytest.mark.parametrize(
    ("model", "counts", "name", "obstacle"),
    [
        ("glm-5", [4], "NVIDIA GB200", "commit-open"),
        ("kimi-k3.1-pro", [4, 4], "NVIDIA GB300", "commit-open"),
    ],
)
def test_what_bringup_would_not_launch_is_planned_for_people(
    model: str, counts: list[int], name: str, obstacle: str
) -> None:
    made = plan(model, counts, name)
    assert obstacle in {one.id for one in made.obstacles}
    assert all(one.next_command for one in made.obstacles)
    assert made.engine.by_hand
    assert made.engine.environment is None
    assert made.head.argv[0] == "/usr/local/bin/vllm"
