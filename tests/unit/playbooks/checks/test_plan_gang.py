"""The checks of the plan as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.facts.host import Driver, GpuProcess, HostFacts, Listener, RdmaDevice, RunningDeployment
from playbooks.checks import (
    plan_all2all,
    plan_conflict,
    plan_drain,
    plan_env_uniform,
    plan_executor,
    plan_hw_support,
    plan_known_issues,
    plan_lb_flags,
    plan_min_version,
    plan_mnnvl_env,
    plan_ready_timeout,
    plan_requirements,
    plan_restart_policy,
    plan_revision,
    plan_start_skew,
    plan_tokenizer_mode,
    plan_tp_block,
    plan_vllm_port,
    plan_world,
)
from playbooks.finding import Status
from playbooks.requirements import Container, Demands, ExpectedWeights, Layout, Model, Requirements, WeightFile
from tests.unit.playbooks.checks.cases import NO_TOOL, GangCase, assert_gang, gang_table
from tests.unit.playbooks.checks.gang import GB, alone, change, gang_needs, gpus, tray, tray_needs, trays

ROOT = ("vllm", "serve", "/models/m")
HEAD_DP = "-dp 8 -dpl 4 -dpa 10.10.0.11 -dpp 29550"
FOLLOWER_DP = f"--headless {HEAD_DP} -dpr 4"


def model(**fields: Any) -> Requirements:  # noqa: ANN401
    return replace(gang_needs(), model=Model(**fields))


def layout(needs: Requirements | None = None, **fields: Any) -> Requirements:  # noqa: ANN401
    return replace(needs or gang_needs(), layout=Layout(**fields))


def commands(head: str, follower: str | None = None, needs: Requirements | None = None, **fields: Any) -> Requirements:  # noqa: ANN401
    """A gang whose hosts run these words; one text is for both."""
    base = needs or gang_needs()
    texts = (head, head if follower is None else follower)
    hosts = tuple(replace(one, argv=(*ROOT, *text.split())) for one, text in zip(base.hosts, texts, strict=True))
    return replace(base, hosts=hosts, **fields)


def environment(needs: Requirements | None = None, *envs: Mapping[str, str], **fields: Any) -> Requirements:  # noqa: ANN401
    """A gang whose hosts have these environments; one is for both."""
    base = needs or gang_needs()
    each = envs if len(envs) == len(base.hosts) else envs * len(base.hosts)
    hosts = tuple(replace(one, env=tuple(env.items())) for one, env in zip(base.hosts, each, strict=True))
    return replace(base, hosts=hosts, **fields)


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("dp8", Status.PASS, needs=layout(tensor_parallel=1, data_parallel=8)),
    GangCase("tp8-over-two", Status.PASS, needs=layout(tensor_parallel=8, data_parallel=1)),
    GangCase(
        "too-few",
        Status.FAIL,
        needs=layout(tensor_parallel=2, data_parallel=8),
        says=("DP 8 x TP 2 x PP 1 = 16", "= 8"),
    ),
    GangCase("tp3", Status.FAIL, needs=layout(tensor_parallel=3, data_parallel=2), says=("do not divide",)),
    GangCase(
        "tp6-over-4", Status.FAIL, needs=layout(tensor_parallel=6, data_parallel=1), says=("spans hosts with 4, 4",)
    ),
)
def test_world(case: GangCase) -> None:
    assert_gang(plan_world, case)


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase(
        "half-a-block",
        Status.FAIL,
        needs=layout(model(moe_intermediate_size=3072, quantization_block=128), tensor_parallel=16),
        says=("3072 / TP 16 = 192", "128", "tensor-parallel-size=12"),
    ),
    GangCase(
        "no-whole-slice",
        Status.FAIL,
        needs=layout(model(moe_intermediate_size=3072, quantization_block=128), tensor_parallel=5),
    ),
    GangCase(
        "whole-blocks",
        Status.PASS,
        needs=layout(model(moe_intermediate_size=3072, quantization_block=128), tensor_parallel=8),
    ),
    GangCase(
        "whole-experts",
        Status.PASS,
        needs=layout(
            model(moe_intermediate_size=3072, quantization_block=128), tensor_parallel=16, expert_parallel=True
        ),
    ),
)
def test_tp_block(case: GangCase) -> None:
    assert_gang(plan_tp_block, case)


@given(st.integers(1, 64), st.integers(1, 64), st.sampled_from((32, 64, 128)))
def test_the_tp_that_is_offered_fits(blocks: int, tensor: int, block: int) -> None:
    size = blocks * block
    needs = layout(model(moe_intermediate_size=size, quantization_block=block), tensor_parallel=tensor)
    (finding,) = plan_tp_block.check({}, needs)
    fits = size % tensor == 0 and (size // tensor) % block == 0
    assert (finding.status is Status.PASS) is fits
    if not fits and "tensor-parallel-size=" in finding.remedy:
        offered = int(finding.remedy.split("tensor-parallel-size=")[1].split(";")[0])
        assert size % offered == 0
        assert (size // offered) % block == 0


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("older", Status.FAIL, needs=model(id="m", minimum_vllm="0.34.0"), says=("0.33.0", "0.34.0")),
    GangCase("same", Status.PASS, needs=model(minimum_vllm="0.33.0")),
    GangCase("newer", Status.PASS, needs=model(minimum_vllm="0.9.1")),
)
def test_min_version(case: GangCase) -> None:
    assert_gang(plan_min_version, case)


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("unsupported", Status.FAIL, needs=model(id="v4", hardware_support="unsupported"), says=("does not run",)),
    GangCase("unlisted", Status.WARN, needs=model(hardware_support="unlisted")),
    GangCase("supported", Status.PASS, needs=model(hardware_support="supported")),
)
def test_hw_support(case: GangCase) -> None:
    assert_gang(plan_hw_support, case)


@gang_table(
    GangCase("unset", Status.PASS),
    GangCase("set", Status.FAIL, needs=environment(None, {"VLLM_PORT": "5000"}), blamed=("tray1", "tray2")),
    GangCase(
        "one-rank",
        Status.WARN,
        facts={"tray1": tray()},
        needs=environment(replace(alone(tray_needs()), data_parallel_size=1), {"VLLM_PORT": "5000"}),
    ),
)
def test_vllm_port(case: GangCase) -> None:
    assert_gang(plan_vllm_port, case)


@gang_table(
    GangCase("nothing-rendered", Status.SKIP),
    GangCase("set", Status.PASS, needs=commands("--distributed-executor-backend mp"), says=("mp",)),
    GangCase("missing-on-one", Status.WARN, needs=commands("--distributed-executor-backend mp", ""), says=("tray2",)),
)
def test_executor(case: GangCase) -> None:
    assert_gang(plan_executor, case)


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("commit", Status.PASS, needs=model(revision="ab" * 20)),
    GangCase("branch", Status.WARN, needs=model(revision="main"), says=("'main'",)),
    GangCase("branch-of-the-code", Status.WARN, needs=commands("--code-revision v1")),
    GangCase(
        "hosts-differ",
        Status.FAIL,
        needs=commands(f"--revision {'ab' * 20}", f"--revision {'cd' * 20}"),
        says=("--revision", "tray1", "tray2"),
    ),
)
def test_revision(case: GangCase) -> None:
    assert_gang(plan_revision, case)


@gang_table(
    GangCase("nothing-rendered", Status.SKIP),
    GangCase("same", Status.PASS, needs=environment(None, {"NCCL_DEBUG": "WARN"})),
    GangCase(
        "own-values",
        Status.PASS,
        needs=environment(
            None,
            {"VLLM_HOST_IP": "10.10.0.11", "GLOO_SOCKET_IFNAME": "a", "BRINGUP_DEPLOYMENT": "x"},
            {"VLLM_HOST_IP": "10.10.0.12", "GLOO_SOCKET_IFNAME": "b", "BRINGUP_DEPLOYMENT": "y"},
        ),
    ),
    GangCase(
        "differs",
        Status.FAIL,
        needs=environment(None, {"VLLM_USE_DEEP_GEMM": "1"}, {"VLLM_USE_DEEP_GEMM": "0"}),
        says=("VLLM_USE_DEEP_GEMM: 1 on tray1; 0 on tray2",),
    ),
    GangCase("missing", Status.FAIL, needs=environment(None, {"A": "1"}, {"B": "1"}), says=("(not set) on tray2",)),
)
def test_env_uniform(case: GangCase) -> None:
    assert_gang(plan_env_uniform, case)


@gang_table(
    GangCase("nothing-rendered", Status.SKIP),
    GangCase("default", Status.WARN, needs=commands("", "--headless")),
    GangCase("zero", Status.WARN, needs=commands("--shutdown-timeout 0")),
    GangCase("followers-do-not-count", Status.PASS, needs=commands("--shutdown-timeout 60", "--headless")),
    GangCase("of-the-plan", Status.PASS, needs=replace(gang_needs(), shutdown_timeout_s=120)),
)
def test_drain(case: GangCase) -> None:
    assert_gang(plan_drain, case)


def occupied(state: str = "running", *, name: str = "other") -> dict[str, HostFacts]:
    other = RunningDeployment(name, "1", True, state, "systemd", (77, 78))  # type: ignore[arg-type]  # noqa: FBT003
    facts = replace(tray(), gpus=gpus("tray1", GpuProcess(78, "VLLM::Worker", GB)), deployments=(other,))
    return trays() | {"tray1": replace(facts, listeners=(Listener("0.0.0.0", 8000, "vllm(77)"),))}  # noqa: S104


@gang_table(
    GangCase("alone", Status.PASS),
    GangCase("other", Status.FAIL, occupied(), blamed=("tray1",), says=("other holds GPU 0 and port 8000",)),
    GangCase("dead-holds-nothing", Status.PASS, occupied("stopped")),
    GangCase("its-own-predecessor", Status.PASS, occupied(name="mine"), replace(gang_needs(), name="mine")),
    GangCase("unknown", Status.UNKNOWN, trays() | {"tray2": replace(tray("tray2"), deployments=NO_TOOL)}),
    GangCase(
        "beside",
        Status.PASS,
        trays() | {"tray1": replace(occupied()["tray1"], gpus=gpus("tray1"), listeners=())},
    ),
)
def test_conflict(case: GangCase) -> None:
    assert_gang(plan_conflict, case)


HYBRID = "-dp 8 -dpl 4 -dpa 10.10.0.11 -dpp 29550 --data-parallel-hybrid-lb"


@gang_table(
    GangCase("nothing-rendered", Status.SKIP),
    GangCase("internal", Status.PASS, needs=commands(HEAD_DP, FOLLOWER_DP)),
    GangCase(
        "start-rank-on-the-head", Status.FAIL, needs=commands(f"{HEAD_DP} -dpr 0", FOLLOWER_DP), says=("start-rank",)
    ),
    GangCase(
        "start-rank-in-an-old-release",
        Status.PASS,
        needs=commands(f"{HEAD_DP} -dpr 0", FOLLOWER_DP, vllm_version="0.20.0"),
    ),
    GangCase("follower-serves", Status.FAIL, needs=commands(HEAD_DP, f"{HEAD_DP} -dpr 4"), blamed=("tray2",)),
    GangCase("follower-without-rank", Status.FAIL, needs=commands(HEAD_DP, f"--headless {HEAD_DP}"), blamed=("tray2",)),
    GangCase("headless-head", Status.FAIL, needs=commands(f"--headless {HEAD_DP}", FOLLOWER_DP), blamed=("tray1",)),
    GangCase("api-servers", Status.FAIL, needs=commands(HEAD_DP, f"{FOLLOWER_DP} --api-server-count 2")),
    GangCase("sizes", Status.FAIL, needs=commands(HEAD_DP, FOLLOWER_DP.replace("-dp 8", "-dp 4")), says=("different",)),
    GangCase("hybrid", Status.PASS, needs=commands(f"{HYBRID} -dpr 0", f"{HYBRID} -dpr 4")),
    GangCase("hybrid-headless", Status.FAIL, needs=commands(f"{HYBRID} -dpr 0", f"{HYBRID} -dpr 4 --headless")),
    GangCase("hybrid-on-one", Status.FAIL, needs=commands(f"{HYBRID} -dpr 0", FOLLOWER_DP), blamed=("tray2", "tray2")),
    GangCase("hybrid-of-one", Status.FAIL, needs=commands(f"{HYBRID} -dpr 0".replace("-dpl 4", "-dpl 1"))),
    GangCase("hybrid-of-all", Status.FAIL, needs=commands(f"{HYBRID} -dpr 0".replace("-dpl 4", "-dpl 8"))),
    GangCase("external", Status.PASS, needs=commands("-dp 2 -dpn 0", "-dp 2 -dpn 1")),
    GangCase(
        "external-dense",
        Status.FAIL,
        needs=layout(commands("-dp 2 -dpn 0", "-dp 2 -dpn 1"), moe=False),
        says=("dense",),
    ),
    GangCase("external-of-two", Status.FAIL, needs=commands("-dp 4 -dpn 0 -dpl 2", "-dp 4 -dpn 1 -dpl 2")),
    GangCase("external-without-rank", Status.FAIL, needs=commands("-dp 2 -dpn 0", "-dp 2 -dpe"), blamed=("tray2",)),
)
def test_lb_flags(case: GangCase) -> None:
    assert_gang(plan_lb_flags, case)


@gang_table(
    GangCase("no-family", Status.SKIP, needs=commands("")),
    GangCase("nothing-rendered", Status.SKIP, needs=model(id="deepseek-ai/DeepSeek-V4-Pro")),
    GangCase(
        "set",
        Status.PASS,
        needs=commands("--tokenizer-mode deepseek_v4", needs=model(id="deepseek-ai/DeepSeek-V4-Pro")),
    ),
    GangCase(
        "chosen-by-vllm",
        Status.WARN,
        needs=commands("--tool-call-parser deepseek_v4", needs=model(id="deepseek-ai/DeepSeek-V4-Pro")),
        says=("not set", "beside the parsers deepseek_v4"),
    ),
    GangCase(
        "old-release",
        Status.FAIL,
        needs=commands("", needs=model(id="deepseek-ai/DeepSeek-V3.2"), vllm_version="0.28.0"),
        says=("deepseek_v32",),
    ),
    GangCase(
        "another-mode",
        Status.FAIL,
        needs=commands("--tokenizer-mode hf", needs=model(id="deepseek-ai/DeepSeek-V4.1-Flash")),
        says=("deepseek_v41", "hf"),
    ),
    GangCase("by-recipe", Status.WARN, needs=commands("", needs=model(id="x", tokenizer_mode="kimi_k3"))),
)
def test_tokenizer_mode(case: GangCase) -> None:
    assert_gang(plan_tokenizer_mode, case)


def adapters(*names: str) -> dict[str, HostFacts]:
    return {name: replace(one, rdma=tuple(RdmaDevice(each) for each in names)) for name, one in trays().items()}


def loaded(*modules: str, **fields: Any) -> dict[str, HostFacts]:  # noqa: ANN401
    """A kernel that is too old for dmabuf, with these modules."""
    driver = Driver(loaded=modules, open_module=True, **fields)
    return {n: change(replace(one, driver=driver), "system", kernel="5.4.0-1") for n, one in trays().items()}


LOW_LATENCY = commands("--all2all-backend deepep_low_latency")


@gang_table(
    GangCase("default", Status.SKIP),
    GangCase("naive", Status.FAIL, needs=commands("--all2all-backend naive")),
    GangCase("mlx5", Status.PASS, adapters("mlx5_0", "mlx5_1"), LOW_LATENCY),
    GangCase("other-adapters", Status.FAIL, adapters("bnxt_re0"), LOW_LATENCY, blamed=("tray1", "tray2")),
    GangCase("no-adapters", Status.FAIL, adapters(), LOW_LATENCY),
    GangCase("adapters-unknown", Status.UNKNOWN, needs=LOW_LATENCY),
    GangCase("nvlink-between-trays", Status.PASS, needs=replace(LOW_LATENCY, mnnvl=True)),
    GangCase("by-environment", Status.FAIL, needs=environment(gang_needs(), {"VLLM_ALL2ALL_BACKEND": "naive"})),
    GangCase(
        "another-driver",
        Status.FAIL,
        {n: replace(one, rdma=(RdmaDevice("mlx5_bond", driver="bnxt_re"),)) for n, one in trays().items()},
        LOW_LATENCY,
        says=("bnxt_re",),
    ),
)
def test_all2all(case: GangCase) -> None:
    assert_gang(plan_all2all, case)


BOTH = {"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1"}
RACK = replace(layout(tensor_parallel=8), hardware="gb200")


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("set", Status.PASS, needs=environment(RACK, BOTH)),
    GangCase("unset", Status.FAIL, needs=RACK, says=("NCCL_MNNVL_ENABLE is not set", "NCCL_CUMEM_ENABLE")),
    GangCase("off", Status.FAIL, needs=environment(RACK, BOTH | {"NCCL_MNNVL_ENABLE": "0"}), says=("is 0",)),
    GangCase("on-one", Status.FAIL, needs=environment(RACK, BOTH, {}), blamed=("tray2",)),
    GangCase("tp-within-a-tray", Status.SKIP, needs=replace(RACK, layout=Layout(tensor_parallel=4))),
    GangCase("ep-over-trays", Status.FAIL, needs=replace(RACK, layout=Layout(expert_parallel=True))),
    GangCase("told-not-to", Status.SKIP, needs=replace(RACK, mnnvl=False)),
    GangCase("hgx", Status.PASS, needs=replace(RACK, hardware="h200")),
    GangCase(
        "hgx-with", Status.FAIL, needs=environment(replace(RACK, hardware="h200"), BOTH), says=("ends at the host",)
    ),
)
def test_mnnvl_env(case: GangCase) -> None:
    assert_gang(plan_mnnvl_env, case)


V4 = model(id="deepseek-ai/DeepSeek-V4-Pro")
OLD = replace(V4, vllm_version="0.28.0")


@gang_table(
    GangCase("none", Status.PASS, needs=V4),
    GangCase("hang", Status.WARN, needs=OLD, says=("--disable-custom-all-reduce", "#53894")),
    GangCase("avoided", Status.PASS, needs=commands("--disable-custom-all-reduce", needs=OLD), says=("avoided",)),
    GangCase("avoided-on-one", Status.WARN, needs=commands("--disable-custom-all-reduce", "", needs=OLD)),
    GangCase("next-release", Status.PASS, needs=replace(OLD, vllm_version="0.29.0")),
    GangCase("one-host", Status.PASS, facts={"tray1": tray()}, needs=replace(OLD, hosts=OLD.hosts[:1])),
    GangCase(
        "driver",
        Status.WARN,
        needs=commands("--all2all-backend deepep_high_throughput"),
        says=("cudaErrorIllegalAddress",),
    ),
    GangCase(
        "another-driver",
        Status.PASS,
        {name: change(one, "gpus", driver="570.1") for name, one in trays().items()},
        commands("--all2all-backend deepep_high_throughput"),
    ),
    GangCase("no-way-to-gpus", Status.WARN, loaded("nvidia"), says=("--no-enable-flashinfer-autotune",)),
    GangCase("no-way-over-nvlink", Status.PASS, loaded("nvidia"), replace(gang_needs(), mnnvl=True)),
    GangCase("peermem", Status.PASS, loaded("nvidia", "nvidia_peermem", memory_peers=("nv_mem",))),
    GangCase("modules-untold", Status.PASS, {n: replace(one, driver=Driver()) for n, one in trays().items()}),
    GangCase(
        "driver-by-module",
        Status.WARN,
        {n: replace(one, gpus=NO_TOOL, driver=Driver(module="580.95.05")) for n, one in trays().items()},
        environment(gang_needs(), {"VLLM_ALL2ALL_BACKEND": "deepep_high_throughput"}),
        says=("cudaErrorIllegalAddress",),
    ),
)
def test_known_issues(case: GangCase) -> None:
    assert_gang(plan_known_issues, case)


def timed(size: int, **env: str) -> Requirements:
    weights = ExpectedWeights("org/model", None, None, (WeightFile("a", size),))
    hosts = tuple(replace(one, argv=ROOT, weights=weights, env=tuple(env.items())) for one in gang_needs().hosts)
    return replace(gang_needs(), hosts=hosts)


@gang_table(
    GangCase("nothing-rendered", Status.SKIP),
    GangCase("small", Status.PASS, needs=timed(9 * GB)),
    GangCase("large", Status.WARN, needs=timed(865 * GB), says=("600 s, the default", "865.0 GB")),
    GangCase("large-and-patient", Status.PASS, needs=timed(865 * GB, VLLM_ENGINE_READY_TIMEOUT_S="3600")),
    GangCase("no-number", Status.WARN, needs=timed(865 * GB, VLLM_ENGINE_READY_TIMEOUT_S="long")),
    GangCase("by-recipe", Status.WARN, needs=commands("", needs=model(vram_minimum_gb=960))),
)
def test_ready_timeout(case: GangCase) -> None:
    assert_gang(plan_ready_timeout, case)


def restarting(policy: str) -> Requirements:
    return replace(gang_needs(), hosts=tuple(replace(one, restart=policy) for one in gang_needs().hosts))


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("never", Status.PASS, needs=restarting("no")),
    GangCase("on-failure", Status.FAIL, needs=restarting("on-failure"), blamed=("tray1", "tray2")),
    GangCase(
        "container",
        Status.WARN,
        needs=replace(gang_needs(), container=Container(arguments=("--restart", "unless-stopped"))),
    ),
    GangCase(
        "container-no", Status.PASS, needs=replace(gang_needs(), container=Container(arguments=("--restart=no",)))
    ),
)
def test_restart_policy(case: GangCase) -> None:
    assert_gang(plan_restart_policy, case)


@pytest.mark.parametrize("version", ["", "0.33.0", "main"])
def test_a_plan_without_a_known_version_is_not_blamed_for_old_faults(version: str) -> None:
    (finding,) = plan_known_issues.check(trays(), replace(V4, vllm_version=version))
    assert finding.status is Status.PASS


def starting(*seconds: float) -> Requirements:
    base = gang_needs()
    hosts = tuple(replace(one, starts_after_s=start) for one, start in zip(base.hosts, seconds, strict=False))
    return replace(base, hosts=(*hosts, *base.hosts[len(hosts) :]))


@gang_table(
    GangCase("untold", Status.SKIP),
    GangCase("untold-of-one", Status.SKIP, needs=starting(0)),
    GangCase("together", Status.PASS, needs=starting(0, 0)),
    GangCase("near", Status.PASS, needs=starting(0, 200), says=("200 s",)),
    GangCase("follower-first", Status.WARN, needs=starting(290, 0), says=("tray2 starts 290 s before", "gives up")),
    GangCase("head-first", Status.WARN, needs=starting(0, 600), says=("tray2 starts 600 s after", "waits")),
)
def test_start_skew(case: GangCase) -> None:
    assert_gang(plan_start_skew, case)


def demanding(**fields: Any) -> Requirements:  # noqa: ANN401
    return replace(gang_needs(), demands=Demands(**fields))


@gang_table(
    GangCase("no-block", Status.SKIP, says=("unverified",)),
    GangCase("nothing-asked", Status.PASS, needs=demanding()),
    GangCase(
        "all-there", Status.PASS, adapters("mlx5_0"), demanding(gpus=8, gpus_per_host=4, nic="mlx5", driver=">=580")
    ),
    GangCase("gpus", Status.FAIL, needs=demanding(gpus=16), says=("8 GPUs are planned", "16 GPUs")),
    GangCase("gpus-a-host", Status.FAIL, needs=demanding(gpus_per_host=8), says=("4, 4",)),
    GangCase("vllm", Status.FAIL, needs=demanding(vllm=">=0.34,<0.36"), says=("vLLM 0.33.0",)),
    GangCase("driver", Status.FAIL, needs=demanding(driver="<580"), blamed=("tray1", "tray2"), says=("580.95.05",)),
    GangCase("adapters", Status.FAIL, adapters("bnxt_re0"), demanding(nic="mlx5"), says=("bnxt_re0",)),
    GangCase("adapters-unknown", Status.UNKNOWN, needs=demanding(nic="mlx5")),
    GangCase("disk", Status.FAIL, needs=demanding(disk_gb=9000), says=("3000 GB are free",)),
    GangCase("mount", Status.FAIL, needs=demanding(mounts=("/models",)), says=("/models",)),
    GangCase(
        "disk-unknown",
        Status.UNKNOWN,
        trays() | {"tray2": replace(tray("tray2"), file_systems=NO_TOOL)},
        demanding(disk_gb=1),
        blamed=("tray2",),
    ),
)
def test_requirements(case: GangCase) -> None:
    assert_gang(plan_requirements, case)


@pytest.mark.parametrize(
    ("version", "bounds", "inside"),
    [
        ("580.95", ">=580,<600", True),
        ("575.1", ">=580", False),
        ("580", "==580.0", True),
        ("580.1", ">580", True),
        ("0.33.0", "<=0.33", True),
        ("1", "newest", True),
    ],
)
def test_ranges(version: str, bounds: str, inside: bool) -> None:  # noqa: FBT001  (a column of the table)
    assert plan_requirements.within(version, bounds) is inside
