from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from inventory.errors import BadInput
from launch.building.command import HostCommand, Program, render
from launch.building.unit import UnitSettings, command_file, unit_file
from launch.placing.place import Layout, place
from launch.placing.placement import LoadBalancing, Placement
from launch.placing.processes import processes_of
from launch.vllm_args import check
from tests.unit.launch.gangs import facts, hosts
from tests.unit.playbooks.sh import sh

PROGRAM = Program(
    vllm="/var/lib/bringup/envs/e1/bin/vllm",
    model_dir="/var/lib/bringup/weights/org--model/c1",
    cache_dir="/var/lib/bringup/caches",
    served_name="model",
)
ARGV: tuple[str, ...] = (
    "vllm",
    "serve",
    "org/model",
    "--enable-expert-parallel",
    "--data-parallel-hybrid-lb",
    "--data-parallel-size",
    "8",
)
ARGV += ("--data-parallel-size-local=4", "--data-parallel-address", "$HEAD_IP", "--max-model-len", "4096")


def placed(balancing: LoadBalancing, gpu_counts: list[int], per_host: int | None = None) -> Placement:
    """Ranks as GPUs, or `per_host` on hosts without."""
    trays = hosts(len(gpu_counts))
    return place(
        trays,
        facts(trays, gpu_counts),
        Layout(balancing, 1, per_host or gpu_counts[0], 8000, 13345, needs_gpus=not per_host),
    )


def rendered(placement: Placement, argv: tuple[str, ...] = ARGV) -> list[HostCommand]:
    env = {"NCCL_SOCKET_IFNAME": "$IFACE_NAME", "A": "head is $HEAD_IP"}
    return [render(argv, env, node=node, placement=placement, program=PROGRAM) for node in placement.nodes]


def option(command: HostCommand, name: str) -> str | None:
    return command.argv[command.argv.index(name) + 1] if name in command.argv else None


def test_hybrid_says_everything_on_every_host() -> None:
    head, follower = rendered(placed(LoadBalancing.HYBRID, [4, 4]))
    for command, start in ((head, "0"), (follower, "4")):
        assert option(command, "--data-parallel-size") == "8"
        assert option(command, "--data-parallel-size-local") == "4"
        assert option(command, "--data-parallel-start-rank") == start
        assert option(command, "--data-parallel-address") == "10.1.0.1"
        assert option(command, "--data-parallel-rpc-port") == "13345"
        assert option(command, "--port") == "8000"
        assert "--data-parallel-hybrid-lb" in command.argv
        assert "--headless" not in command.argv
        assert len([word for word in command.argv if word.startswith("--data-parallel-size")]) == 2
    assert dict(follower.env)["VLLM_HOST_IP"] == "10.1.0.2"
    assert dict(follower.env)["NCCL_SOCKET_IFNAME"] == "eth0"
    assert dict(follower.env)["A"] == "head is 10.1.0.1"


def test_internal_has_a_headless_follower_and_no_start_rank_on_the_head() -> None:
    head, follower = rendered(placed(LoadBalancing.INTERNAL, [0, 0], per_host=1))
    assert "--data-parallel-start-rank" not in head.argv, "it would make vLLM infer hybrid load balancing"
    assert option(head, "--api-server-count") == "2"
    assert "--headless" in follower.argv
    assert option(follower, "--data-parallel-start-rank") == "1"
    assert option(follower, "--api-server-count") is None, "vLLM refuses API servers on a headless host"
    assert option(follower, "--port") is None


def test_one_rank_has_no_data_parallel_options() -> None:
    (command,) = rendered(placed(LoadBalancing.INTERNAL, [0], per_host=1))
    assert not [word for word in command.argv if "data-parallel" in word]
    assert "VLLM_HOST_IP" not in dict(command.env)


def test_a_recipe_may_set_the_number_of_api_servers() -> None:
    argv = (*ARGV, "--api-server-count", "1")
    head, _ = rendered(placed(LoadBalancing.INTERNAL, [0, 0], per_host=1), argv)
    assert option(head, "--api-server-count") == "1"
    assert head.argv.count("--api-server-count") == 1


def spanning(pipeline: int = 1) -> Placement:
    trays = hosts(2)
    layout = Layout(LoadBalancing.INTERNAL, 8 // pipeline, 1, 8000, 13345, needs_gpus=True)
    layout = replace(layout, pipeline_parallel_size=pipeline, hosts_per_rank=2)
    return place(trays, facts(trays, [4, 4]), layout)


ACROSS: tuple[str, ...] = (
    "vllm",
    "serve",
    "org/model",
    "--tensor-parallel-size",
    "8",
    "--nnodes",
    "2",
    "--node-rank",
    "0",
)
ACROSS += ("--node-rank", "0", "--master-addr", "$HEAD_IP", "--distributed-executor-backend", "uni")


@pytest.mark.parametrize("pipeline", [1, 2])
def test_one_rank_over_hosts_has_a_headless_follower_and_no_data_parallel_options(pipeline: int) -> None:
    head, follower = rendered(spanning(pipeline), ACROSS)
    for rank, command in enumerate((head, follower)):
        assert option(command, "--tensor-parallel-size") == str(8 // pipeline)
        assert option(command, "--pipeline-parallel-size") == (str(pipeline) if pipeline > 1 else None)
        assert option(command, "--nnodes") == "2"
        assert option(command, "--node-rank") == str(rank)
        assert option(command, "--master-addr") == "10.1.0.1"
        assert option(command, "--master-port") == "13345"
        assert option(command, "--distributed-executor-backend") == "mp"
        assert not [word for word in command.argv if "data-parallel" in word]
        assert check(command.argv[1:], dict(command.env), "0.33.0") == ()
    assert "--headless" not in head.argv
    assert "--headless" in follower.argv
    assert option(head, "--api-server-count") == "1"
    assert option(follower, "--api-server-count") is None
    assert dict(follower.env)["VLLM_HOST_IP"] == "10.1.0.2"


def test_a_recipe_keeps_its_backend_where_no_rank_spans_hosts() -> None:
    (command,) = rendered(placed(LoadBalancing.INTERNAL, [0], per_host=1), ACROSS)
    assert option(command, "--distributed-executor-backend") == "uni"
    assert option(command, "--nnodes") is None


def test_an_open_placeholder_is_refused() -> None:
    with pytest.raises(BadInput, match="IB_IF"):
        rendered(placed(LoadBalancing.HYBRID, [4, 4]), (*ARGV, "--x", "$IB_IF"))


def test_processes_of_each_mode() -> None:
    hybrid = placed(LoadBalancing.HYBRID, [8, 8])
    totals = [processes_of(node, hybrid, api_servers=8).total for node in hybrid.nodes]
    assert totals == [26, 25], "DP16 over two hosts of eight, as vLLM 0.33.0 lays it out"
    internal = placed(LoadBalancing.INTERNAL, [8, 8])
    counts = [
        processes_of(node, internal, api_servers=a).total for node, a in zip(internal.nodes, (16, 0), strict=True)
    ]
    assert counts == [34, 17]
    one = spanning()
    parts = [processes_of(node, one, api_servers=int(node.serves)) for node in one.nodes]
    assert [(part.api_servers, part.launchers, part.engine_cores, part.workers) for part in parts] == [
        (1, 0, 1, 4),
        (0, 1, 0, 4),
    ]


def files() -> str:
    commands = rendered(placed(LoadBalancing.HYBRID, [4, 4]))
    commands += rendered(placed(LoadBalancing.INTERNAL, [0, 0], 1))
    commands += rendered(spanning(2), ACROSS)
    settings = UnitSettings("trial", "0123456789ab", "/var/lib/bringup/deployments/trial/0123456789ab", "gpu")
    return "\n".join(text for one in commands for text in (command_file(one, settings), unit_file(settings)))


def test_golden_files_that_reach_a_host(snapshot: SnapshotAssertion) -> None:
    assert files() == snapshot


def test_the_words_of_the_command_file_are_the_argv() -> None:
    (command,) = rendered(placed(LoadBalancing.NONE, [0], per_host=1), (*ARGV, "--x", "a b'c\"`d`\n$(e)\\"))
    text = command_file(command, UnitSettings("d", "g", "/s/deployments/d/g", "u"))
    shown = sh("printf '%s\\0'" + text[text.index("exec env -i") :].removeprefix("exec env -i"))
    assert tuple(shown.stdout.split("\0")[-len(command.argv) - 1 : -1]) == command.argv
    assert Path(command.argv[0]).is_absolute()
