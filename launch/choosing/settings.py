"""Options of vLLM that the operator sets over the recipe's: `--set max-model-len=200000,kv-cache-dtype=fp8`. Pure.

A comma ends a setting unless it stands in quotes, braces or brackets, so that JSON needs no quoting of its own:
`--set 'speculative-config={"method":"mtp","num_speculative_tokens":1},max-num-seqs=8'`. Quotes around a whole value
are taken off. A switch has no value, or true or false. An option with several values has spaces between them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from inventory.quoting import quote
from inventory.secret import HIDDEN
from launch.vllm_args.parse import Refusal, load, loose_json, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

_PAIRS = {"{": "}", "[": "]", "(": ")"}
_TRUE, _FALSE = frozenset({"", "true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})
_QUOTED = 2  # characters: the quotes themselves

WRITTEN_BY: Mapping[str, str] = {
    "port": "--port",
    "data_parallel_rpc_port": "--rpc-port",
    "master_port": "--rpc-port",
    "served_model_name": "--name",
    "model": "--model, --variant",
    "revision": "--revision",
    "host": "the placement: every interface",
    "headless": "--strategy, and the order of the hosts",
    "nnodes": "--nodes",
    "node_rank": "the order of the hosts",
    "data_parallel_rank": "the order of the hosts",
    "data_parallel_start_rank": "the order of the hosts",
    "data_parallel_address": "the facts of the head",
    "master_addr": "the facts of the head",
    "data_parallel_hybrid_lb": "--load-balancing",
    "data_parallel_external_lb": "--load-balancing",
    "data_parallel_multi_port_external_lb": "--load-balancing",
    "data_parallel_supervisor_port": "--port",
    "numa_bind": "--pinning, and the facts of each host",
    "numa_bind_nodes": "--pinning, and the facts of each host",
    "numa_bind_cpus": "--pinning, and the facts of each host",
    "api_key": "--api-key: a key is no word of a command line",
    "hf_token": "nothing: ranks are offline, and a token is no word of a command line",
}
"""Options that the plan writes from something else, and from what."""
SECRET = ("--api-key", "--hf-token")
SHORT: Mapping[str, str] = {
    "ac": "attention-config",
    "asc": "api-server-count",
    "cc": "compilation-config",
    "dc": "diffusion-config",
    "dcp": "decode-context-parallel-size",
    "dp": "data-parallel-size",
    "dpa": "data-parallel-address",
    "dpb": "data-parallel-backend",
    "dpe": "data-parallel-external-lb",
    "dph": "data-parallel-hybrid-lb",
    "dpl": "data-parallel-size-local",
    "dpm": "data-parallel-multi-port-external-lb",
    "dpn": "data-parallel-rank",
    "dpp": "data-parallel-rpc-port",
    "dpr": "data-parallel-start-rank",
    "ep": "enable-expert-parallel",
    "n": "nnodes",
    "pcp": "prefill-context-parallel-size",
    "pp": "pipeline-parallel-size",
    "q": "quantization",
    "r": "node-rank",
    "sc": "speculative-config",
    "tp": "tensor-parallel-size",
}
"""vLLM's own short options, without their dash: they are written in full."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One option as typed, without its dashes; `value` None: a switch.

    `typed`: the flag of ours that asked for it, with its value; empty: `--set`. `why`: what follows from it.
    """

    name: str
    value: str | None = None
    typed: str = ""
    why: str = ""

    def __str__(self) -> str:
        value = HIDDEN if self.flag in SECRET else self.value
        return self.typed or "--set " + quote(self.name if value is None else f"{self.name}={value}")

    @property
    def flag(self) -> str:
        """`--max-model-len`, with any key behind a dot left out."""
        return self.option.partition(".")[0]

    @property
    def option(self) -> str:
        name, dot, key = self.name.partition(".")
        return "--" + SHORT.get(name, name.replace("_", "-")) + dot + key


def settings(text: str) -> tuple[Setting, ...]:
    """Read the value of `--set`. Raises `BadInput` for open quotes or braces, and for an option without a name."""
    found = []
    for part in _split(text):
        name, equals, value = part.partition("=")
        name = re.sub(r"^--?", "", name.strip()).strip()
        if not name or not name.replace("-", "").replace("_", "").replace(".", "").replace("+", "").isalnum():
            raise _unreadable(text, f"{part.strip()!r} does not begin with the name of an option")
        found.append(Setting(name, _bare(value) if equals else None))
    return tuple(found)


def _split(text: str) -> Iterator[str]:
    """The parts between the commas at the top."""
    part, closing, quoted, escaped = "", [], "", False
    for letter in text:
        if escaped or (quoted and letter != quoted):
            escaped = not escaped and letter == "\\"
        elif quoted:
            quoted = ""
        elif letter in "\"'":
            quoted = letter
        elif letter in _PAIRS:
            closing.append(_PAIRS[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        elif letter == "," and not closing:
            yield part
            part = ""
            continue
        part += letter
    if quoted or closing:
        raise _unreadable(text, f"{quoted or closing[-1]} is missing at the end")
    if part.strip() or not text.strip():
        yield from [part] if part.strip() else []


def _bare(value: str) -> str:
    value = value.strip()
    whole = len(value) >= _QUOTED and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if whole and value[0] not in value[1:-1] else value


def _unreadable(text: str, why: str) -> BadInput:
    return BadInput(
        "--set cannot be read",
        id="flag-value",
        observed=f"{why}, in {text!r}",
        required="OPTION=VALUE, more of them behind commas; braces, brackets and quotes keep commas together",
        next_command="the same command with --set max-model-len=200000,kv-cache-dtype=fp8, for example",
    )


def words(wanted: Sequence[Setting], version: str) -> list[str]:
    """The settings as words of a command line. Raises `BadInput` for what this vLLM, or the plan, does not take."""
    found: list[str] = []
    dests: dict[str | None, Setting] = {}
    for one in wanted:
        dest = load(version)["flags"].get(one.flag)
        if dest in WRITTEN_BY:
            raise contradiction(one, f"the {one.flag} that the plan writes", WRITTEN_BY[dest])
        if dest is not None and dest in dests and "." not in one.name:
            raise contradiction(one, str(dests[dest]), "typed")
        dests[dest] = one
        found += _words(one, load(version)["options"].get(dest, {}))
    for refusal in parse(["model", *found], version).refusals:
        raise _refused(refusal, version)
    return found


def _words(one: Setting, option: Mapping[str, Any]) -> list[str]:
    if option.get("type") == "flag":
        value = (one.value or "").lower()
        off = next(iter(sorted(option.get("off", ()), key=lambda flag: not flag.startswith("--no-"))), None)
        if value in _FALSE and off:
            return [off]
        return [one.flag] if value in _TRUE else [f"{one.flag}={one.value}"]
    if one.value is None:
        return [one.option]
    many = option.get("nargs") == "+"
    return [one.option, *(one.value.split() if many else [one.value])]


def _refused(refusal: Refusal, version: str) -> BadInput:
    return BadInput(
        "an option of --set cannot be used",
        id="flag-value",
        observed=f"{refusal.token}: {refusal.reason}",
        required=refusal.nearest or f"an option of vLLM {version}, with a value that it takes",
        next_command="the same command with another --set",
    )


def contradiction(one: Setting, other: str, source: str) -> BadInput:
    """`one` cannot be had together with `other`, which comes from `source`."""
    return BadInput(
        f"{one} contradicts {other}",
        id="override-contradicts",
        observed=f"{one} (typed), and {other} ({source})",
        required="one of the two",
        next_command=f"the same command without {one}",
    )


def over(argv: Sequence[str], wanted: Sequence[str], version: str) -> tuple[str, ...]:
    """`argv`, a whole `vllm serve` command, with the options of `wanted` in place of those that it has.

    A key behind a dot changes this key of the JSON that is there, and leaves its others.
    """
    flags = load(version)["flags"]
    replaced = {dest_of(word, flags) for word in wanted if word.startswith("--")} - {None}
    dropped, kept = _apart(argv[3:], replaced, flags)
    return (*argv[:3], *kept, *_merged(wanted, dropped, flags))


def _apart(
    options: Sequence[str], replaced: AbstractSet[str | None], flags: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """The words of the options that are replaced, and all others."""
    dropped: list[str] = []
    kept: list[str] = []
    into = kept
    for word in options:
        if word.startswith("-"):
            dest = dest_of(word, flags)
            into = dropped if dest in replaced else kept if dest is not None or not _is_number(word) else into
        into.append(word)
    return dropped, kept


def _merged(wanted: Sequence[str], dropped: Sequence[str], flags: Mapping[str, str]) -> list[str]:
    """`wanted`, its dotted keys put into the JSON of the same option among `dropped`."""
    there = {dest_of(word, flags): value for word, value in pairwise(dropped) if value.startswith("{")}
    found: list[str] = []
    objects: dict[str | None, tuple[str, dict[str, Any]]] = {}
    words = iter(wanted)
    for word in words:
        dest, (flag, dot, path) = dest_of(word, flags), word.partition(".")
        if not word.startswith("--") or not dot or dest not in there:
            found.append(word)
            continue
        _, node = objects.setdefault(dest, (flag, json.loads(there[dest])))
        *parents, last = path.split(".")
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = loose_json(next(words))
    return [*found, *(text for flag, one in objects.values() for text in (flag, _json(one)))]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def dest_of(word: str, flags: Mapping[str, str]) -> str | None:
    """The option that a word of a command line names; None when it is a value."""
    name = word.partition("=")[0].partition(".")[0]
    return flags.get("--" + name[2:].replace("_", "-") if name.startswith("--") else name)


def _is_number(word: str) -> bool:
    return word.lstrip("-").replace(".", "", 1).isdecimal()
