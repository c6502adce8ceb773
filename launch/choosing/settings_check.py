"""Whether what the operator set can be had: against the hosts, the recipe's constraints, and other flags. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, Several
from launch.choosing.reasons import Reason
from launch.choosing.settings import contradiction, dest_of
from launch.placing.placement import LoadBalancing
from launch.resolve.constraints import unmet
from launch.vllm_args.check import check
from launch.vllm_args.parse import load, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from launch.building.command import HostCommand
    from launch.catalogue.recipe import Feature
    from launch.choosing.choice import Choice
    from launch.choosing.settings import Setting
    from launch.placing.placement import Placement
    from launch.request import Request
    from launch.resolve.constraints import Unmet
    from launch.vllm_args.parse import Refusal

MOST_PORT = 65535
SIZES: Mapping[str, str] = {
    "tensor_parallel_size": "TP",
    "pipeline_parallel_size": "PP",
    "data_parallel_size": "DP",
    "data_parallel_size_local": "DP on a host",
}
SIZE_FLAGS = frozenset("--" + dest.replace("_", "-") for dest in SIZES)


def why_settings(request: Request) -> Iterator[Reason]:
    for one in request.settings:
        value = "on" if one.value is None else one.value
        rule = one.why or "as asked for, in place of the recipe's"
        yield Reason("option", f"{one.option} {value}", rule, source=one.typed.split(" ", 1)[0] or "--set")


def refuse_unplaceable(request: Request, error: BringupError) -> None:
    """A layout that was typed and that the hosts cannot bear is bad input: both sides are named."""
    typed = [str(one) for one in request.settings if one.flag in SIZE_FLAGS]
    typed += [f"--strategy {request.strategy}"] if request.strategy else []
    first = error.errors[0] if isinstance(error, Several) else error
    tensor = [one for one in request.settings if one.flag == "--tensor-parallel-size"]
    if typed and first.id in {"gpu.count", "strategy-unsupported"}:
        raise BadInput(
            f"{' and '.join(typed)} contradict{'s' if len(typed) == 1 else ''} the hosts",
            id="override-contradicts",
            observed=f"{', '.join(typed)} (typed), and {first.observed} on {first.host or 'the hosts'} (facts)",
            required=first.required,
            next_command=f"the same command without {typed[0]}"
            + (", or with fewer ranks: data-parallel-size-local=N in --set" if len(typed) == len(tensor) == 1 else ""),
        ) from error


def refuse_contradicted(choice: Choice, request: Request, command: HostCommand, placement: Placement) -> None:
    """Refuse a setting that a feature which was asked for, a constraint, the layout or this vLLM contradicts."""
    flags = load(choice.vllm)["flags"]
    ours = {dest: one for one in request.settings if (dest := dest_of(one.flag, flags))}
    _refuse_features(choice, request, ours)
    _refuse_sizes(ours, placement)
    refuse_ports(placement)
    parsed = parse(command.argv[1:], choice.vllm)
    for miss in unmet(choice.place, choice.strategy, parsed):
        dest = dest_of(miss.observed.removeprefix("no ").split(" ", 1)[0], flags)
        if dest in ours:
            raise contradiction(ours[dest], f"{miss.required}: {miss.why}", f"the recipe, after {miss.source}")
        if request.strategy or request.variant:
            raise _typed_contradicts(request, miss)
    for refusal in check(command.argv[1:], dict(command.env), choice.vllm):
        dest = dest_of(refusal.token.split(" ", 1)[0], flags)
        if dest in ours and not refusal.warns:
            raise _refused(ours[dest], refusal, choice.vllm)


def _refused(one: Setting, refusal: Refusal, version: str) -> BadInput:
    """What this vLLM would say of a setting, in the command that it became part of."""
    return BadInput(
        f"{one} contradicts what vLLM {version} takes",
        id="override-contradicts",
        observed=f"{refusal.token}: {refusal.reason}",
        required=refusal.nearest or f"a value that vLLM {version} takes in this command",
        next_command=f"the same command without {one}",
    )


def _typed_contradicts(request: Request, miss: Unmet) -> BadInput:
    """A strategy or variant that was typed, and a constraint of the recipe that its command does not meet."""
    typed = {"--strategy": request.strategy, "--variant": request.variant}
    said = " ".join(f"{flag} {value}" for flag, value in typed.items() if value)
    return BadInput(
        f"{said} contradicts a constraint of the recipe",
        id="override-contradicts",
        observed=f"{said} (typed), whose command has {miss.observed}; {miss.why} (the recipe, after {miss.source})",
        required=miss.required,
        next_command=f"the same command without {said}",
    )


def _refuse_features(choice: Choice, request: Request, ours: Mapping[str, Setting]) -> None:
    for asked in request.features:
        name, _, mode = asked.partition("=")
        for word in _words(choice.found.recipe.features[name], mode):
            dest = dest_of(word, load(choice.vllm)["flags"]) if word.startswith("-") else None
            if dest is not None and dest in ours:
                raise contradiction(ours[dest], f"--feature {asked}, which sets {word}", "typed; the recipe's features")


def _words(feature: Feature, mode: str) -> Sequence[str]:
    modes = feature.modes or {}
    picked = [modes[mode]] if mode in modes else list(modes.values())
    return [*feature.args, *(word for one in picked for word in one.args)]


def _refuse_sizes(ours: Mapping[str, Setting], placement: Placement) -> None:
    placed = {
        "tensor_parallel_size": placement.tensor_parallel_size,
        "pipeline_parallel_size": placement.pipeline_parallel_size,
        "data_parallel_size": placement.data_parallel_size,
        "data_parallel_size_local": len(placement.head.ranks),
    }
    for dest, size in placed.items():
        if dest in ours and ours[dest].value != str(size):
            raise contradiction(ours[dest], f"{SIZES[dest]} {size}", "the strategy on these hosts")


def refuse_ports(placement: Placement) -> None:
    """Raise `BadInput` where the servers of the head would take the port where ranks join, or one that is none."""
    servers = len(placement.head.ranks) if placement.load_balancing is LoadBalancing.EXTERNAL else 1
    last = placement.supervisor_port or placement.http_port + servers - 1
    said = f"--port {placement.http_port}"
    taken = said if last == placement.http_port else f"{said}, from which the servers of a host take {servers} and more"
    if last > MOST_PORT:
        raise _ports(taken, f"the last port, {MOST_PORT}", f"--port {MOST_PORT - (last - placement.http_port)} or less")
    joins = placement.data_parallel_size > 1 or len(placement.nodes) > 1
    if joins and placement.http_port <= placement.rpc_port <= last:
        rpc = f"--rpc-port {placement.rpc_port}, where the ranks join"
        raise _ports(f"{taken} up to {last}" if taken != said else said, rpc, "ports of their own for both")


def _ports(ours: str, other: str, required: str) -> BadInput:
    return BadInput(
        f"{ours} contradicts {other}",
        id="override-contradicts",
        observed=f"{ours} (typed, or by default), and {other} (typed, or by default)",
        required=required,
        next_command="the same command with another --port or --rpc-port",
    )
