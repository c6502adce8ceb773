"""The record of a generation: who the gang is and how its members are reached, the same on every host.

It is written to `generation.json` on each host, so that every verb works by reading the hosts, with nothing kept on
the control machine.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inventory import names
from inventory.errors import BadInput
from inventory.quoting import quote
from launch.planned.wanted import KEY_FILE
from launch.request import GENERATION, NAME

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT_VERSION = 1
SYSTEMD, PROCESS_GROUP = SUPERVISORS = ("systemd", "process-group")


@dataclass(frozen=True, slots=True)
class Member:
    """One host of the gang. `url` is its public endpoint, empty for a headless host.

    `servers`: more than 1 where every rank has an endpoint of its own, on the ports from that of `url` on.
    """

    host: str
    url: str
    start_rank: int
    ranks: int  # 0: it holds workers of the head's rank
    python: str  # of the engine's environment, absolute
    supervisor: str  # one of SUPERVISORS
    servers: int = 1
    address: str = ""  # on the network of the gang; empty: an older record, or a gang of one

    def has_rank(self, rank: int) -> bool:
        """Whether it has the data-parallel rank; workers of the head's rank belong to rank 0."""
        return self.start_rank <= rank < self.start_rank + self.ranks or (not self.ranks and rank == 0)

    @property
    def urls(self) -> tuple[str, ...]:
        base, _, port = self.url.rpartition(":")
        return tuple(f"{base}:{int(port) + server}" for server in range(self.servers)) if self.url else ()


@dataclass(frozen=True, slots=True)
class Generation:
    """A gang. The first member is the head."""

    name: str
    generation: str
    recipe: str
    variant: str
    strategy: str
    vllm: str
    served_name: str
    load_balancing: str
    prompt: str  # the question that proves it serves
    max_tokens: int
    ports: tuple[int, ...]  # TCP ports that must be free again behind a stop
    members: tuple[Member, ...]
    kv_tokens: int | None = None  # predicted for the cache of each engine; None: nothing was
    kv_at_most: bool = False  # the prediction is an upper bound
    asks_key: bool = False  # clients must send the key that lies beside this record
    drain_s: int = 0  # seconds that running requests get when it is stopped
    tools: bool = False  # it is asked for calls of tools too
    guard_port: int = 0  # where its guards talk to each other; 0: it has none
    hardware: str = ""  # the profile, "cpu" for none; empty: an older record

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(member.host for member in self.members)

    @property
    def flags(self) -> str:
        """The flags that name this gang to a verb, whatever inventory there is and whatever else runs on its hosts."""
        return f"--hosts {quote(','.join(self.hosts))} --name {quote(self.name)}"

    def behind(self, member: Member) -> int:
        """The ranks that answer behind each endpoint of `member`.

        With internal load balancing all of the gang do behind the head, with external one does behind each.
        """
        every = sum(one.ranks for one in self.members)
        return {"hybrid": member.ranks, "external": 1}.get(self.load_balancing, every)

    def key_file(self, folder: str) -> str:
        """Where the key that clients must send lies, in the `folder` of a host's generation; empty: none is asked."""
        return f"{folder}/{KEY_FILE}" if self.asks_key else ""

    def of(self, host: str) -> Member:
        return next(member for member in self.members if member.host == host)

    def to_line(self, host: str) -> str:
        """The file of one host: one line of JSON."""
        member = self.of(host)
        own = {"host": host, "head": member is self.members[0], "supervisor": member.supervisor}
        return json.dumps({"format_version": FORMAT_VERSION, **own, **asdict(self)}, ensure_ascii=False) + "\n"


@cache
def _schema() -> TypeAdapter[Generation]:
    from pydantic import TypeAdapter

    return TypeAdapter(Generation)


def _refuse_strange(known: Generation) -> None:
    """Whoever can write on a host can write its record: what no deploy of ours writes must not get any further.

    Raises `ValueError`. These texts go on into units, into files of Prometheus and onto the terminal.
    """
    if not NAME.fullmatch(known.name) or not GENERATION.fullmatch(known.generation):
        raise ValueError("no name of a deployment and its generation")
    shown = (
        known.recipe,
        known.variant,
        known.strategy,
        known.vllm,
        known.served_name,
        known.load_balancing,
        known.hardware,
    )
    if not "".join(shown).isprintable():
        raise ValueError("a control character where a name belongs")
    for member in known.members:
        names.host_name(member.host)
        if member.address:
            names.address(member.address)
        if member.url:
            names.url(member.url)
            names.port(urlsplit(member.url).port or 0)
        if not member.python.startswith("/") or not member.python.isprintable():
            raise ValueError("the engine's Python is no absolute path")
        if member.supervisor not in SUPERVISORS:
            raise ValueError(f"a supervisor that is none of {', '.join(SUPERVISORS)}")


def read_generation(line: str, host: str) -> Generation:
    """Read a host's `generation.json`. Raises `BadInput` when it is not one of this format version."""
    try:
        data = json.loads(line)
        if data.pop("format_version") != FORMAT_VERSION:
            raise ValueError("another format version")  # noqa: TRY301  (one exit for all that is not ours)
        for own in ("host", "head", "supervisor"):
            data.pop(own)
        members = tuple(Member(**member) for member in data.pop("members"))
        known = _schema().validate_python(asdict(Generation(members=members, ports=data.pop("ports"), **data)))
        _refuse_strange(known)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            "the record of the deployment on the host cannot be read",
            id="generation-unreadable",
            observed=f"{line[:80]!r}: {error}",
            required=f"generation.json of format version {FORMAT_VERSION}",
            next_command="deploy again with this version of bringup",
            host=host,
        ) from None
    return known
