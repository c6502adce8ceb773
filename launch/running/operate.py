"""The verbs on a deployment that is there: smoke, stop, start, restart. They read the hosts and need nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed, CheckFailed, HostUnreachable, NotServing, raise_all
from inventory.fleet import Fleet
from launch.building.gang import RUNNING
from launch.building.generation import PROCESS_GROUP, Generation, Member
from launch.building.unit import STOP_TIMEOUT_S
from launch.caches.hits import sentence
from launch.running.cache_lines import against, of_lines
from launch.running.history import History, history_script, read_history
from launch.running.smoke import Answer, Endpoint, endpoint_of, read_answer, smoke_script
from launch.running.supervise import STOP_GRACE_S, RankState, read_state, start_script, stock_script, stop_script
from launch.running.survey import Deployment, Survey, survey, the_one
from launch.running.verdict import MIXED, deploy_again, states
from launch.watching.pace import pace_of
from launch.watching.watch import Ready, rank_failed, watch
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.schema import Inventory
    from inventory.transport.base import Completed, Transport
    from launch.console.report import Report
    from launch.watching.event import Event, Told

START_DEADLINE_S = 60.0
SMOKE_DEADLINE_S = 180.0
STOCK_DEADLINE_S = 20.0
SWEEP_S = 25.0


def find(
    fleet: Fleet, inventory: Inventory, name: str | None, *, latest: bool = False, within_s: float | None = None
) -> tuple[Survey, Deployment]:
    """Find the deployment; hosts of its gang that were not selected are taken in, because the gang is the unit.

    `latest`: of several the last one. `within_s`: hosts that take longer to answer are given up.
    """
    seen = survey(fleet, within_s=within_s)
    found = the_one(seen, name, latest=latest)
    others = [inventory.resolve(host)[0] for host in found.gang.hosts if host not in fleet.hosts]
    if others:
        fleet.add(others)
        seen = survey(fleet, within_s=within_s)
        found = the_one(seen, found.gang.name)
    return seen, found


def canary(
    fleet: Fleet, gang: Generation, members: Sequence[Member], *, timeout_s: float
) -> tuple[tuple[Answer, ...], dict[str, BringupError]]:
    """Chat completions through the endpoints of `members`, asked on their own hosts, all at once.

    Returns the answers, and the errors of hosts that could not be asked: of their endpoints nothing is known.
    """
    endpoints = {member.host: endpoint_of(gang, member, tools=gang.tools) for member in members}

    def one(transport: Transport) -> Answer:
        endpoint = endpoints[transport.host]
        script = canary_script(gang, endpoint, state_dir=fleet.state_dirs[transport.host], timeout_s=timeout_s)
        return read_answer(endpoint, transport.run(script, timeout=timeout_s + 10))

    outcomes = fleet.each(one, tuple(endpoints))
    answers = tuple(outcome for outcome in outcomes.values() if isinstance(outcome, Answer))
    return answers, {host: outcome for host, outcome in outcomes.items() if isinstance(outcome, BringupError)}


def canary_script(gang: Generation, endpoint: Endpoint, *, state_dir: str, timeout_s: float) -> str:
    """What asks `endpoint` on its own host, with the key of the generation where it asks for one."""
    folder = Layout(state_dir).generation(gang.name, gang.generation)
    key_file = gang.key_file(folder)
    return smoke_script(endpoint, python=gang.of(endpoint.host).python, timeout_s=timeout_s, key_file=key_file)


def smoke(fleet: Fleet, gang: Generation, *, timeout_s: float) -> tuple[Answer, ...]:
    """The canary as a condition. Raises `NotServing` with the endpoint that gave no completion.

    A host that cannot be asked is the cause, whatever the others fail to answer then.
    """
    answers, lost = canary(fleet, gang, [one for one in gang.members if one.url], timeout_s=timeout_s)
    raise_all(list(lost.values()))
    failed = [answer for answer in answers if not answer.ok]
    if failed:
        raise NotServing(
            f"no completion from {failed[0].endpoint.url}",
            id="smoke-failed",
            observed=failed[0].error,
            required=f"a chat completion of {gang.served_name} from each of {len(answers)} endpoint(s)",
            next_command=f"invoke logs {gang.flags}",
            host=failed[0].endpoint.host,
        )
    return answers


def stop(fleet: Fleet, gang: Generation, report: Report, *, strays: Sequence[str] = ()) -> None:
    """Stop all ranks and prove it, also on `strays`: hosts outside the gang that still run ranks of its name.

    Raises when anything is left, or a host did not answer: then it is unknown.
    """

    def one(transport: Transport) -> Completed:
        state_dir, grace_s = fleet.state_dirs[transport.host], gang.drain_s + STOP_GRACE_S
        script = stop_script(gang.name, gang.ports, state_dir=state_dir, grace_s=grace_s)
        return transport.run(script, timeout=_stop_within_s(gang, transport.host))

    errors: list[BringupError] = []
    for host, outcome in fleet.each(one, (*gang.hosts, *strays)).items():
        if isinstance(outcome, BringupError):
            errors.append(_stop_unknown(outcome, host, gang.name))
        elif outcome.text or outcome.exit_status != 0:
            errors.append(_left(outcome, host, gang.name))
        else:
            ports = ", ".join(map(str, gang.ports))
            report.say(f"{host}: stopped: no unit, no process, no GPU and no shared memory held, ports {ports} free")
    raise_all(errors)


def _stop_within_s(gang: Generation, host: str) -> float:
    """How long the script may take: a unit has a limit of its own, a stray may be one; then comes the sweep."""
    group = any(one.host == host and one.supervisor == PROCESS_GROUP for one in gang.members)
    return gang.drain_s + (STOP_GRACE_S if group else STOP_TIMEOUT_S) + SWEEP_S


def restart(fleet: Fleet, deployment: Deployment, report: Report, *, timeout_s: float) -> Ready:
    """Stop the group, start the same generation on every host, watch and prove it; on a failure stop it again."""
    gang = deployment.gang
    refuse_mixed(deployment)
    with report.phase("Stop"):
        stop(fleet, gang, report, strays=tuple(deployment.strays))
    return start_and_prove(fleet, gang, report, timeout_s=timeout_s)


def start_and_prove(fleet: Fleet, gang: Generation, report: Report, *, timeout_s: float) -> Ready:
    """Start the current generation on every host, watch and prove it; on a failure stop it again."""
    try:
        with report.phase("Start"):
            start(fleet, gang)
        with report.phase("Watch"):
            ready = watched_by(fleet, gang, report, timeout_s=timeout_s)
            take_stock(fleet, gang, ready, report)
        with report.phase("Smoke"):
            smoke(fleet, gang, timeout_s=SMOKE_DEADLINE_S)
    except BringupError:
        stop_failed(fleet, gang, report)
        raise
    return ready


def stop_failed(fleet: Fleet, gang: Generation, report: Report) -> None:
    """One failed, all stop: a part of a gang serves nobody and holds its GPUs and ports. Its logs are read before."""
    from launch.diagnosis.run import tell_first_cause

    with report.phase("Diagnose"):
        tell_first_cause(fleet, gang, report)
    with report.phase("Stop"):
        try:
            stop(fleet, gang, report)
        except BringupError as error:
            report.error(error)


def refuse_mixed(deployment: Deployment) -> None:
    """A host without this generation would start another one, or nothing: that is no restart."""
    other = {host: state for host, state in states(deployment).items() if state in MIXED}
    if other:
        raise CheckFailed(
            "not every host of the group has the generation that would be started; nothing was changed",
            id="generation-mixed",
            observed=", ".join(f"{host} {state}" for host, state in other.items()),
            required=f"generation {deployment.gang.generation} of {deployment.gang.name} on every host",
            next_command=deploy_again(deployment.gang),
        )


def take_stock(fleet: Fleet, gang: Generation, ready: Ready, report: Report) -> None:
    """Say what each host's engines have of KV cache, against what was planned; keep their lines, and who they are.

    Also which ranks found their compiled code. A host that cannot keep them serves all the same; where a process is
    gone since the ranks were ready, `NotServing` is raised: nothing else would miss some of them for long.
    """
    for host, lines in ready.kv_cache_lines.items():
        seen = of_lines(lines)
        report.say(f"{host}: KV cache {against(gang.kv_tokens, at_most=gang.kv_at_most, seen=seen)}")
    if said := sentence(ready.cache_hits):
        report.say(said)

    def one(transport: Transport) -> RankState:
        lines = ready.kv_cache_lines.get(transport.host, ())
        script = stock_script(gang.name, lines, state_dir=fleet.state_dirs[transport.host])
        return read_state(transport.run(script, timeout=STOCK_DEADLINE_S).text)

    for host, outcome in fleet.each(one, gang.hosts).items():
        if isinstance(outcome, BringupError):
            report.say(f"{host}: its line on the KV cache could not be kept; status will not know it", style="yellow")
        elif outcome.state != RUNNING:
            raise rank_failed(gang, host, "a process of them ended as they got ready", f"ranks {outcome.state}")


def watched_by(fleet: Fleet, gang: Generation, report: Report, *, timeout_s: float, told: Told | None = None) -> Ready:
    """Watch the start, told as lines, or as a table where somebody looks at a terminal; `told`: events as data."""
    paces = {host: pace_of(one.entries, gang.generation) for host, one in histories(fleet, gang).items()}
    with report.table_of_ranks() as shown:

        def say(event: Event) -> None:
            if told:
                told(event)
            if shown is None:
                style = {"silent": "yellow", "ready": "green"}.get(event.what, "")
                report.say(f"{event.host}: {event}", style=style)

        return watch(fleet, gang, timeout_s=timeout_s, told=say, shown=shown or (lambda _: None), paces=paces)


def histories(fleet: Fleet, gang: Generation) -> dict[str, History]:
    """What each host that answers remembers of the deployment."""

    def one(transport: Transport) -> History:
        script = history_script(gang.name, state_dir=fleet.state_dirs[transport.host])
        return read_history(transport.run(script, timeout=STOCK_DEADLINE_S).text)

    outcomes = fleet.each(one, gang.hosts)
    return {host: told for host, told in outcomes.items() if not isinstance(told, BringupError)}


def start(fleet: Fleet, gang: Generation) -> None:
    """Start the current generation on every host. Raises `ChangeFailed` where no main process came on record."""

    def one(transport: Transport) -> None:
        script = start_script(gang.name, state_dir=fleet.state_dirs[transport.host])
        done = transport.run(script, timeout=START_DEADLINE_S)
        if done.exit_status != 0:
            raise ChangeFailed(
                "the ranks could not be started",
                id="start-failed",
                observed=done.stderr.decode(errors="replace").strip()[-400:],
                required="a main process on record",
                next_command=f"invoke logs {gang.flags}",
                host=transport.host,
            )

    fleet.all(one, gang.hosts)


def _stop_unknown(error: BringupError, host: str, name: str) -> HostUnreachable:
    return HostUnreachable(
        f"it is unknown whether the ranks are stopped: {error.message}",
        id="stop-unknown",
        observed=error.observed or error.id,
        required="an answer from every host of the gang",
        next_command=f"invoke stop --hosts {host} --name {name}, when it answers again",
        host=host,
    )


def _left(outcome: Completed, host: str, name: str) -> ChangeFailed:
    """Only ports, and no process of ours: they are somebody else's, and no further stop will free them."""
    lines = outcome.text.splitlines()
    foreign = bool(lines) and all(line.startswith("port ") for line in lines)
    return ChangeFailed(
        "the ranks are stopped, but somebody else listens on their ports" if foreign else "the ranks are not stopped",
        id="not-stopped",
        observed=outcome.text.strip().replace("\n", "\n    ") or outcome.stderr.decode(errors="replace").strip()[-300:],
        required="no unit, no process, no GPU and no shared memory held, ports free",
        next_command=f"on {host}: end the process that is named, by its owner's means"
        if foreign
        else f"invoke stop --hosts {host} --name {name}",
        host=host,
    )
