"""Measure a deployment with the tools of the field, and compare what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from inventory.errors import ExitCode
from launch import request
from launch.console.report import Report, print_json, print_table
from launch.serving.bench.workload import SUBSETS, Workload
from launch.verbs import arguments

REQUESTS, INPUT_TOKENS, OUTPUT_TOKENS = 100, 1024, 256
LONGEST = 2_000_000
FILES = "a folder on the head, with the files of SPEED-Bench: qualitative.jsonl, ..."


def bench(*, hosts: str, name: str, inventory: str, compare: str, json: bool, **work: str) -> ExitCode:
    from launch.serving.bench.results import result_rows
    from launch.serving.bench.run import run_bench
    from playbooks.control import this_run

    if compare:
        return _compare(compare, hosts=hosts, name=name, inventory=inventory, json=json)
    wanted = workload(work)
    report = Report()
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        gang = found.gang
        report.say(
            f"==> bench {gang.name}: {wanted.requests} requests of {wanted.dataset} at {gang.members[0].urls[0]}"
        )
        result = run_bench(fleet, gang, wanted, this_run(f"bench {gang.name}"), report.say)
    if json:
        print_json("bench", result)
    else:
        print_table(*result_rows(result))
    if not wanted.data:
        report.say("random tokens: with speculative decoding the truth is faster; --speed-bench FOLDER sends text")
    report.say(f"kept as {result.id}; next: invoke bench --compare EARLIER,{result.id} {gang.flags}")
    return ExitCode.DONE


def workload(typed: Mapping[str, str]) -> Workload:
    """What the flags ask for. Raises `BadInput`."""
    data, program, subset = typed["speed_bench"], typed["guidellm"], typed["subset"] or SUBSETS[0]
    request.known("subset", subset, dict.fromkeys(SUBSETS))
    if data and program:
        alone = "no --guidellm: vLLM's own benchmark reads these files"
        raise request.refused("speed-bench", data, alone, instead="without --guidellm")
    return Workload(
        requests=request.count("requests", typed["requests"], REQUESTS, 1_000_000),
        input_tokens=request.count("input-tokens", typed["input_tokens"], INPUT_TOKENS, LONGEST),
        output_tokens=request.count("output-tokens", typed["output_tokens"], OUTPUT_TOKENS, LONGEST),
        concurrency=request.count("concurrency", typed["concurrency"], 1, 100_000) if typed["concurrency"] else None,
        rate=request.seconds("rate", typed["rate"], 1.0) if typed["rate"] else None,
        data=request.absolute_path("speed-bench", data, FILES) if data else None,
        subset=subset,
        guidellm=request.absolute_path("guidellm", program, "the program on the head") if program else None,
    )


def bench_list(*, hosts: str, name: str, inventory: str, json: bool) -> ExitCode:
    from launch.serving.bench.kept import listed

    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        runs = {PurePosixPath(folder).name: said for folder, said in listed(fleet, found.gang).items()}
    if json:
        print_json("benchmarks", runs)
        return ExitCode.DONE
    columns = (
        "began",
        "user",
        "generation",
        "vllm",
        "requests",
        "input_tokens",
        "output_tokens",
        "concurrency",
        "rate",
    )
    rows = [(name, *(str(said.get(key) or "-") for key in columns)) for name, said in runs.items()]
    print_table(("id", *(one.replace("_", " ") for one in columns)), rows)
    return ExitCode.DONE


def _compare(compare: str, *, hosts: str, name: str, inventory: str, json: bool) -> ExitCode:
    from launch.serving.bench.kept import result_of
    from launch.serving.bench.results import compared_rows, differences

    ids = request.names(compare)
    if len(ids) != 2:
        raise request.refused("compare", compare, "the ids of two benchmarks, with a comma between them")
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        first, second = (result_of(fleet, found.gang, one) for one in ids)
    if json:
        print_json("bench-compared", {"first": first, "second": second, "differences": differences(first, second)})
        return ExitCode.DONE
    print_table(*compared_rows(first, second))
    for line in differences(first, second):
        Report().say(f"not the same: {line}", style="yellow")
    return ExitCode.DONE
