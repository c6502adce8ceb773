"""The work of one host as a script: the programs, what they are told, and how they are started. Pure."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from inventory.quoting import quote, quote_all
from launch.prefetch.manifest import Manifest
from playbooks.plan import ABSENT, Phase, Refusal, Step

PROGRAMS = Path(__file__).parent / "programs"
WORK, VERIFIED = ".cache/bringup", ".bringup-verified.json"
DEADLINE_S = 7 * 24 * 3600.0
KEEP_FREE = 1 << 30
"""Bytes that a download leaves free for what the host itself writes."""


@dataclass(frozen=True, slots=True)
class FetchJob:
    """What a host is to do. `origin`: hub, pull (by `urls`), link (to the folder `at`) or none (verify only).

    `mine`: paths of its share, None: all. `hf`, `python`: words that start them. `trusted`: another host has read the
    same disk. `rate` in bytes a second. `run`: which run this is; what an earlier one did is no answer to it.
    """

    run: str
    folder: str
    manifest: Manifest
    origin: str
    python: tuple[str, ...]
    hf: tuple[str, ...] = ()
    mine: tuple[str, ...] | None = None
    endpoint: str | None = None
    proxy: str | None = None
    no_proxy: str = ""
    urls: tuple[tuple[str, str], ...] = ()
    at: str | None = None
    trusted: bool = False
    rate: int | None = None
    rate_file: str | None = None
    stall_s: float = 120.0
    tries: int = 6
    pause_s: float = 2.0
    keep_free: int = KEEP_FREE

    @property
    def spec(self) -> str:
        told = asdict(self) | {"manifest": json.loads(self.manifest.to_json()), "urls": dict(self.urls)}
        return json.dumps(told | {"from": told.pop("at")})

    @property
    def bytes(self) -> int:
        sizes = self.manifest.sizes
        return sum(sizes.values() if self.mine is None else (sizes[path] for path in self.mine))


def fetched(job: FetchJob) -> Step:
    """The step that carries `job` out."""
    done = quote(f"{job.folder}/{WORK}/done")
    return Step(
        id=f"weights {job.manifest.repo}",
        phase=Phase.PREFETCH,
        why="a launch never downloads: weights are on every host, verified, before any rank starts",
        probe=f"if [ -e {done} ]; then printf 'done by %s' \"$(cat {done})\"; else printf {ABSENT}; fi",
        wanted=f"done by {job.run}",
        script=script_of(job),
        summary=_summary(job),
        deadline_s=DEADLINE_S,
        refusals=REFUSALS,
    )


def script_of(job: FetchJob) -> str:
    """POSIX sh: lay the programs down beside the files, and start them."""
    work = f"{job.folder}/{WORK}"
    words = quote_all([*job.python, "-m", "programs.fetch", f"{work}/spec.json"])
    return f"""umask 022
work={quote(work)}
mkdir -p -- "$work/bin/programs"
chmod 0700 -- "$work"
{laid_down()}base64 -d >"$work/spec.json" <<'END'
{base64.encodebytes(job.spec.encode()).decode()}END
cd -- "$work/bin"
{words}
cd / && rm -rf -- "$work/bin" "$work/spec.json" "$work/hf" "$work/xet" "$work/pull.json"
"""


@cache
def laid_down() -> str:
    return "".join(
        f"base64 -d >\"$work/bin/programs/{file.name}\" <<'END'\n{base64.encodebytes(file.read_bytes()).decode()}END\n"
        for file in sorted(PROGRAMS.glob("*.py"))
    )


def _summary(job: FetchJob) -> str:
    of = f"{job.manifest.repo} at {job.manifest.commit[:12]}"
    count = len(job.manifest.files if job.mine is None else job.mine)
    how = {"none": "verify", "link": f"verify and link, in {job.at},"}.get(job.origin, "fetch")
    return f"{how} {of}: {count} files, {job.bytes / 1e9:.2f} GB"


def _refusal(name: str, message: str, required: str, next_command: str) -> Refusal:
    return Refusal(id=name, message=message, required=required, next_command=next_command)


_AGAIN = "then type the same command again: what came is kept"
_PAGE = "open the model's page on the hub with the account of the token; "

REFUSALS: tuple[Refusal, ...] = (
    _refusal(
        "disk-full",
        "the disk is full; what was verified is kept",
        "room for the files that are still to come, and a little more",
        f"invoke weights.list --hosts HOST; invoke weights.gc --hosts HOST; {_AGAIN}",
    ),
    _refusal(
        "clock-wrong",
        "the certificate of the hub does not hold at the time of this host",
        "a clock that is right to a minute",
        f"on the host: date -u; timedatectl status; {_AGAIN}",
    ),
    _refusal(
        "hub-certificate",
        "the host does not trust the certificate of the hub",
        "the certificate of the hub's issuer, or of the company's proxy, among those of the host",
        "on the host: curl -sSI the hub's address; or --fetch push",
    ),
    _refusal(
        "hub-gated",
        "the hub does not give this model to this account",
        "access that its owner has granted, and a token of that account",
        f"{_PAGE}ask for access; {_AGAIN}",
    ),
    _refusal(
        "hub-unauthorized",
        "the hub does not know who asks, or does not tell strangers of this model",
        "a token in HF_TOKEN_PATH or HF_TOKEN on this machine",
        f"hf auth login, or export HF_TOKEN_PATH=FILE; {_AGAIN}",
    ),
    _refusal(
        "hub-revision-gone",
        "the hub does not have this commit any more",
        "a commit that the repository has: its history may have been rewritten",
        f"{_PAGE}then the same command with --revision COMMIT",
    ),
    _refusal(
        "hub-not-found",
        "the hub has no such repository or file",
        "the repository and commit of the recipe at the hub that is asked",
        "invoke recipes.show, and see mirrors: hub: in the inventory",
    ),
    _refusal(
        "hub-rate-limited",
        "the hub asks for fewer requests",
        "fewer hosts that ask it at once, or a token, which has a larger allowance",
        f"wait some minutes, {_AGAIN}; --fetch hub-once asks least",
    ),
    _refusal("hub-unavailable", "the hub answers with an error of its own", "a hub that serves", f"wait, {_AGAIN}"),
    _refusal(
        "hub-unreachable",
        "the host does not reach the hub, or the connection breaks again and again",
        "a way out, a mirror (mirrors: hub:) or a proxy (proxy:) in the inventory",
        "the same command with --fetch push, which needs no way out on hosts",
    ),
    _refusal(
        "hub-stalled",
        "nothing came from the hub for a while, also when it was asked anew",
        "bytes",
        f"on the host: ss -ti; {_AGAIN}",
    ),
    _refusal(
        "weights-changed",
        "a file is never what the source lists for this commit",
        "the bytes that the sha256 of the manifest names",
        f"if a mirror serves it, leave it out of the inventory (mirrors: hub:), {_AGAIN}",
    ),
    _refusal(
        "weights-incomplete",
        "files that should have come are missing or wrong; they were thrown away, the others are kept",
        "every file of the manifest with its sum",
        "type the same command again: only those are fetched",
    ),
    _refusal(
        "prefetch-running",
        "another process fills this folder",
        "one at a time",
        "invoke prefetch --status; wait for it, or invoke prefetch --cancel --hosts HOST",
    ),
    _refusal(
        "prefetch-cancelled",
        "the prefetch was cancelled; what came is kept",
        "nobody who cancels it",
        "type the same command again: it goes on where it was",
    ),
    _refusal(
        "fetch-failed",
        "the download tool gave up",
        "all files of the revision",
        "look at .cache/bringup/log in the folder of the weights on HOST, " + _AGAIN,
    ),
)
