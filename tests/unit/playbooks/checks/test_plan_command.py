"""The checks of one rendered command and its environment."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.argv import VALUED, long_name, number, options
from playbooks.checks import plan_literal, plan_load_strategy, plan_no_empty
from playbooks.checks.version import before, release
from playbooks.finding import Status
from playbooks.requirements import ExpectedWeights, HostRequirements, WeightFile
from tests.unit.playbooks.checks.cases import NO_TOOL, Case, assert_host, table
from tests.unit.playbooks.checks.gang import GB, change, known, tray, tray_needs

WEIGHTS = "/var/lib/bringup/weights/org--model/c0ffee"


def command(*words: str, **env: str) -> HostRequirements:
    return replace(tray_needs(), argv=("vllm", "serve", "/models/m", *words), env=tuple(env.items()))


@table(
    Case("nothing-rendered", Status.SKIP),
    Case("complete", Status.PASS, needs=command("--port", "8000", "--headless", HOME="/root")),
    Case(
        "value-is-the-next-option",
        Status.FAIL,
        needs=command("--data-parallel-address", "--data-parallel-rpc-port", "29550"),
        says=("--data-parallel-address has no value",),
    ),
    Case("at-the-end", Status.FAIL, needs=command("--master-addr"), says=("--master-addr has no value",)),
    Case("alias", Status.FAIL, needs=command("-dpa", "-dpp", "1"), says=("-dpa has no value",)),
    Case("equals", Status.FAIL, needs=command("--node-rank="), says=("--node-rank has no value",)),
    Case("empty-word", Status.FAIL, needs=command("--host", ""), says=("empty, after --host",)),
    Case("placeholder", Status.FAIL, needs=command("--host", "${HEAD_IP}"), says=("${HEAD_IP} of --host",)),
    Case("angle", Status.FAIL, needs=command("--host", "<HEAD_IP>"), says=("<HEAD_IP>",)),
    Case("empty-variable", Status.FAIL, needs=command(VLLM_HOST_IP=""), says=("VLLM_HOST_IP is empty",)),
    Case("unresolved-variable", Status.FAIL, needs=command(VLLM_HOST_IP="$IP"), says=("$IP of VLLM_HOST_IP",)),
    Case("number-is-a-value", Status.PASS, needs=command("--seed", "-1")),
    Case("json", Status.PASS, needs=command("--speculative-config", '{"method": "mtp", "n": {"a": 1}}')),
)
def test_no_empty(case: Case) -> None:
    assert_host(plan_no_empty, case)


@table(
    Case("nothing-rendered", Status.SKIP),
    Case("literal", Status.PASS, needs=command("--port", "8000", PRICE="5$")),
    Case("variable", Status.FAIL, needs=command("--host", "$HOSTNAME"), says=("$HOSTNAME in the command",)),
    Case("braces", Status.FAIL, needs=command("--host", "${HOSTNAME:-x}"), says=("${HOSTNAME:-x}",)),
    Case("substitution", Status.FAIL, needs=command("--host", "$(hostname -i)"), says=("$(hostname -i)",)),
    Case("backticks", Status.FAIL, needs=command(VLLM_HOST_IP="`hostname -i`"), says=("in VLLM_HOST_IP",)),
)
def test_literal(case: Case) -> None:
    assert_host(plan_literal, case)


def loads(size: int, *words: str) -> HostRequirements:
    files = (WeightFile("model-00001.safetensors", size),)
    return replace(command(*words), weights=ExpectedWeights("org/model", "c0ffee", WEIGHTS, files))


def on(kind: str) -> Case:
    facts = tray()
    (root,) = known(facts.file_systems)
    status = Status.PASS if kind == "xfs" else Status.WARN
    return Case(kind, status, replace(facts, file_systems=(replace(root, type=kind),)), loads(865 * GB), (kind,))


@table(
    Case("nothing-rendered", Status.SKIP, needs=tray_needs()),
    Case("no-size", Status.SKIP, needs=replace(command(), space=())),
    Case("no-file-systems", Status.SKIP, replace(tray(), file_systems=NO_TOOL), loads(865 * GB)),
    *(on(kind) for kind in ("ext4", "nfs4", "lustre", "xfs")),
    Case("small", Status.PASS, needs=loads(9 * GB)),
    Case("chosen", Status.PASS, needs=loads(865 * GB, "--safetensors-load-strategy", "prefetch")),
    Case("of-the-plan", Status.SKIP, needs=command(), says=("file system",)),
)
def test_load_strategy(case: Case) -> None:
    assert_host(plan_load_strategy, case)


def test_the_longest_mount_counts() -> None:
    facts = tray()
    (root,) = known(facts.file_systems)
    data = replace(root, mount="/var/lib/bringup/weights", type="nfs4")
    found = plan_load_strategy.file_system(replace(facts, file_systems=(root, data)), loads(1))
    assert found == data
    assert change(facts, "system", uid=0).file_systems == facts.file_systems


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), {}),
        (("-tp", "8"), {"--tensor-parallel-size": "8"}),
        (("--tensor_parallel_size=8",), {"--tensor-parallel-size": "8"}),
        (("-tp", "4", "--tensor-parallel-size", "8"), {"--tensor-parallel-size": "8"}),
        (("--headless", "-dpr", "4"), {"--headless": None, "--data-parallel-start-rank": "4"}),
        (("--seed", "-1"), {"--seed": "-1"}),
    ],
)
def test_options(words: tuple[str, ...], told: dict[str, str | None]) -> None:
    assert options(words) == told


@given(st.lists(st.text(max_size=6), max_size=8))
def test_any_words_are_read(words: list[str]) -> None:
    assert all(name.startswith("-") for name in options(words))


@given(st.sampled_from(sorted(VALUED)), st.integers(0, 10**6))
def test_an_option_is_found_by_either_spelling(name: str, value: int) -> None:
    assert number(options((name, str(value))), name) == value
    assert number(options((f"{name}={value}",)), name) == value
    assert long_name("--" + name[2:].replace("-", "_")) == name


@pytest.mark.parametrize(
    ("one", "other", "earlier"),
    [
        ("0.28.0", "0.33.0", True),
        ("0.33.0", "0.33.0", False),
        ("0.33", "0.33.0", False),
        ("v0.9.2", "0.10", True),
        ("0.33.0rc1", "0.33.0", False),
        ("nightly", "0.33.0", False),
        ("0.33.0", "", False),
    ],
)
def test_releases_in_order(one: str, other: str, earlier: bool) -> None:  # noqa: FBT001  (a column of the table)
    assert before(one, other) is earlier


def test_no_number_is_no_release() -> None:
    assert release("main") is None
