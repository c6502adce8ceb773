"""Run a benchmark on the head of a deployment, as a detached job, and keep what it measured beside the generation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from inventory.errors import ChangeFailed, CheckFailed
from inventory.quoting import quote, quote_all
from launch.building.container import container_name
from launch.building.unit import SYSTEM_PATH
from launch.request import refused
from launch.serving.bench.guidellm import KEY_MARK, scenario
from launch.serving.bench.kept import read_at
from launch.serving.bench.results import FORMAT_VERSION, Result
from launch.serving.bench.workload import Workload, bench_words
from launch.serving.endpoints import stored_command
from playbooks.joblist import Follower, about
from playbooks.jobs import start_script
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.building.generation import Generation
    from launch.serving.stored_command import StoredCommand
    from playbooks.lock import Owner

DEADLINE_S = 6 * 3600
_WITH_KEY = 'OPENAI_API_KEY=$(cat "$0") && export OPENAI_API_KEY && exec "$@"'


def run_bench(fleet: Fleet, gang: Generation, work: Workload, owner: Owner, told: Callable[[str], None]) -> Result:
    """Run it and return what was measured. Raises `ChangeFailed` when the tool did not measure anything."""
    head = gang.members[0].host
    stored = stored_command(fleet, gang, head)
    if stored is None:
        raise CheckFailed(
            "the command that the ranks were started with cannot be read",
            id="generation-unreadable",
            observed=f"command.sh of generation {gang.generation} on {head}",
            required="the file as a deploy wrote it",
            next_command=f"the deploy command that made it, again with --name {gang.name}",
            host=head,
        )
    refuse_too_long(work, stored)
    known = {
        "format_version": FORMAT_VERSION,
        "id": owner.run,
        "began": owner.since,
        "user": owner.user,
        "control": owner.control,
        "generation": gang.generation,
        "vllm": gang.vllm,
        "endpoint": gang.members[0].urls[0],
        **asdict(work),
    }

    def one(transport: Transport) -> Result:
        folder = f"{folder_of(fleet, gang, transport.host)}/{owner.run}"
        script = bench_script(gang, work, stored, folder=folder, about=json.dumps(known))
        state_dir = fleet.state_dirs[transport.host]
        started = start_script(owner.run, script, state_dir=state_dir, about=about(owner, "", [owner.why]))
        done = transport.run(started, timeout=DEADLINE_S, on_stdout=Follower((owner.why,), told).feed)
        if done.exit_status != 0:
            raise _failed(head, done.stderr.decode(errors="replace"), f"{state_dir}/jobs/{owner.run}/output")
        return _kept(transport, folder, owner.run)

    return fleet.on(head, one)


def refuse_too_long(work: Workload, stored: StoredCommand) -> None:
    """Every single request would be refused, and nothing measured."""
    longest = stored.value_of("--max-model-len") or ""
    if work.data or not longest.isdecimal() or work.input_tokens + work.output_tokens <= int(longest):
        return
    fits = f"with --input-tokens {int(longest) // 2} --output-tokens {int(longest) // 4}"
    together = f"at most {longest} together with --output-tokens {work.output_tokens}: the deployment's --max-model-len"
    raise refused("input-tokens", str(work.input_tokens), together, instead=fits)


def folder_of(fleet: Fleet, gang: Generation, host: str) -> str:
    return f"{Layout(fleet.state_dirs[host]).generation(gang.name, gang.generation)}/benchmarks"


def bench_script(gang: Generation, work: Workload, stored: StoredCommand, *, folder: str, about: str) -> str:
    """The job: a tool measures, and its result and what it was about lie in `folder`."""
    key_file = gang.key_file(folder.rpartition("/benchmarks/")[0])
    measure = _by_guidellm if work.guidellm else _in_container if stored.container else _by_vllm
    return f"""mkdir -p -- {quote(folder)} && cd -- {quote(folder)} || exit 1
printf '%s\\n' {quote(about)} >about.json || exit 1
{measure(gang, work, stored, folder, key_file)}
[ -s result.json ] || {{ echo 'no result was written' >&2; exit 1; }}
"""


def _by_vllm(gang: Generation, work: Workload, stored: StoredCommand, folder: str, key_file: str) -> str:
    """In the environment of the ranks, without what marks them as such."""
    words = bench_words(work, stored, url=gang.members[0].urls[0], served_name=gang.served_name, folder=folder)
    env = [f"{name}={value}" for name, value in stored.env.items()]
    return f"{quote_all(['env', '-i', *env, *_with_key(key_file), stored.program, *words])} || exit 1"


def _in_container(gang: Generation, work: Workload, stored: StoredCommand, folder: str, key_file: str) -> str:
    """In the container of the ranks, where it writes below `/tmp`; the result is fetched out."""
    inside = f"/tmp/{folder.rpartition('/')[2]}"  # noqa: S108  (in the container)
    words = bench_words(work, stored, url=gang.members[0].urls[0], served_name=gang.served_name, folder=inside)
    enter = [str(stored.container), "exec", *(["--env", "OPENAI_API_KEY"] if key_file else [])]
    run = [
        "env",
        f"PATH={SYSTEM_PATH}",
        *_with_key(key_file),
        *enter,
        container_name(gang.name),
        stored.program,
        *words,
    ]
    fetch = [str(stored.container), "exec", container_name(gang.name), "cat", f"{inside}/result.json"]
    return f"{quote_all(run)} || exit 1\n{quote_all(fetch)} >result.json || exit 1"


def _by_guidellm(gang: Generation, work: Workload, stored: StoredCommand, folder: str, key_file: str) -> str:
    """By the program that the operator names; the key is put into its scenario on the host, for its owner alone."""
    text = scenario(
        work,
        url=gang.members[0].urls[0],
        served_name=gang.served_name,
        tokenizer=stored.value_of("--tokenizer") or stored.model,
        result=f"{folder}/result.json",
        asks_key=gang.asks_key,
    )
    before, _, after = text.partition(KEY_MARK)
    key = f"sed 's/[\\\\\"]/\\\\&/g' {quote(key_file)} | tr -d '\\n' && " if key_file else ""
    env = ["env", "-i", f"PATH={SYSTEM_PATH}", "HF_HUB_OFFLINE=1", f"HOME={folder}"]
    run = quote_all([*env, str(work.guidellm), "run", "--config", "scenario.json", "--disable-console-interactive"])
    return f"""umask 077
{{ printf %s {quote(before)} && {key}printf %s {quote(after)}; }} >scenario.json || exit 1
{run}
status=$?
rm -f scenario.json
[ "$status" = 0 ] || exit 1"""


def _with_key(key_file: str) -> list[str]:
    return ["/bin/sh", "-c", _WITH_KEY, key_file] if key_file else []


def _kept(transport: Transport, folder: str, name: str) -> Result:
    try:
        found = read_at(transport, folder, name)
    except (FileNotFoundError, ValueError) as error:
        raise _failed(transport.host, f"{type(error).__name__}: {error}", folder) from None
    if not found.values.get("completed"):
        raise _failed(transport.host, "not one request was answered", f"{folder}/result.json")
    return found


def _failed(host: str, last_output: str, where: str) -> ChangeFailed:
    return ChangeFailed(
        "the benchmark did not measure anything",
        id="bench-failed",
        observed="\n    ".join(last_output.strip().splitlines()[-8:]) or "no output",
        required="answered requests",
        next_command=f"on {host}: tail -n 50 {quote(where)}",
        host=host,
    )
