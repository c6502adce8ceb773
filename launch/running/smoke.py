"""Ready means proven: real chat completions through every public endpoint, asked on the serving host itself.

The control machine often cannot reach the serving address, and a health check proves nothing: vLLM answers
`/health` with 200 while a data-parallel rank is dead. See docs/adr/0008.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.quoting import quote, quote_all

if TYPE_CHECKING:
    from inventory.transport.base import Completed
    from launch.building.generation import Generation, Member

PROGRAM = Path(__file__).parents[1] / "programs" / "complete.py"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The public endpoint of a host, or several with commas between: `ranks` data-parallel ranks answer behind each."""

    host: str
    url: str
    model: str
    ranks: int
    prompt: str
    max_tokens: int
    tools: bool = False

    @property
    def count(self) -> int:
        return len(self.url.split(","))


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint gave: `text` of one completion and the slowest time, or the first `error`.

    `called`: it called the tool that was offered; None: none was.
    """

    endpoint: Endpoint
    ok: bool
    text: str
    seconds: float | None
    error: str
    called: bool | None = None


def endpoint_of(gang: Generation, member: Member, *, tools: bool = False) -> Endpoint:
    """The endpoint, or endpoints, of one host of the gang."""
    urls = ",".join(member.urls)
    return Endpoint(member.host, urls, gang.served_name, gang.behind(member), gang.prompt, gang.max_tokens, tools)


def smoke_script(endpoint: Endpoint, *, python: str, timeout_s: float, key_file: str = "") -> str:
    """Render the script that asks every rank of `endpoint` for a completion, at once; with the key of `key_file`."""
    count = max(1, endpoint.ranks)
    told = [endpoint.url, endpoint.model, endpoint.prompt, endpoint.max_tokens, count, timeout_s, key_file]
    words = quote_all([*told, "tools"] if endpoint.tools else told)
    return f"env -i {quote(python)} - {words} <<'END_OF_PROGRAM'\n{PROGRAM.read_text()}END_OF_PROGRAM\n"


def read_answer(endpoint: Endpoint, completed: Completed) -> Answer:
    """Read what the script printed; anything but the expected line is an error that quotes it."""
    return answer_of(endpoint, completed.text, completed.stderr.decode(errors="replace"))


def answer_of(endpoint: Endpoint, text: str, said: str = "") -> Answer:
    """The same of what it printed, and what it said on stderr."""
    try:
        answers = json.loads(text)
        failed = next((one for one in answers if not one["ok"]), None)
        if failed:
            which = f"rank {failed['rank']}: " if "rank" in failed else ""
            return Answer(endpoint, ok=False, text="", seconds=None, error=which + str(failed.get("error", "no token")))
        slowest = max(float(one["seconds"]) for one in answers)
        called = [bool(one["called"]) for one in answers if "called" in one]
        first = next((str(one["text"]) for one in answers if "called" not in one), "")
        return Answer(endpoint, ok=True, text=first, seconds=slowest, error="", called=all(called) if called else None)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        seen = (said or text).strip()[-200:]
        return Answer(endpoint, ok=False, text="", seconds=None, error=f"the probe said: {seen or 'nothing'}")
