"""What a host has of a revision: its script, and the reading of its answer. Pure but for `look`."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from inventory.errors import BringupError, raise_all
from inventory.quoting import quote
from inventory.transport.exchange import in_time
from launch.prefetch.job import VERIFIED, WORK
from launch.prefetch.manifest import NAME, Manifest, read_manifest
from playbooks.steps.python_env import MARKER

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

LOOK_S = 120.0
REACH_S = 8
RATE = "weights/.rate"
OLDEST_PYTHON = (3, 9)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to look at on one host. `tools`: environments that may have the hub's client; the first complete one counts.

    `reach`: the address that is tried; None: none is. `at`: a folder of weights on the host, to be read from.
    """

    state_dir: str
    folder: str
    tools: tuple[str, ...] = ()
    reach: str | None = None
    proxy: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One host's folder. Times of change are Unix seconds with nine decimals, as text.

    `files`: size and time by path; `parts`: bytes that have come of a file that is not whole. `free` in bytes, None:
    not told. `tool`: an environment with the hub's client; `python`: the host's own will do. `reaches`: whether the
    source answers, None: nobody tried. `rate`: bytes a second of the last fetch. `network`: the file system's type
    when it is one of a network. `has_source`: whether the folder to read from is there.
    """

    host: str
    free: int | None = None
    manifest: Manifest | None = None
    verified: Mapping[str, tuple[int, str, str]] = field(default_factory=dict)
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    parts: int = 0
    sent: Mapping[str, int] = field(default_factory=dict)
    tool: str | None = None
    python: bool = False
    reaches: bool | None = None
    why_not: str = ""
    rate: int | None = None
    network: str = ""
    has_source: bool | None = None

    def sums(self) -> dict[str, str]:
        """The sha256 of every file that was read and has not changed since."""
        return {path: sha for path, (size, when, sha) in self.verified.items() if self.files.get(path) == (size, when)}

    def present(self, manifest: Manifest) -> frozenset[str]:
        """Paths of `manifest` that are here and verified. What was written to since it was read is not."""
        sums, sealed = self.sums(), self._sealed(manifest)
        return frozenset(
            one.path
            for one in manifest.files
            if one.path in self.files
            and self.files[one.path][0] == one.size
            and (
                (one.path in sums and one.sha256 in {None, sums[one.path]})
                or (one.path in sealed and one.path not in self.verified)
            )
        )

    def _sealed(self, manifest: Manifest) -> frozenset[str]:
        """What the host's own manifest lists as `manifest` does: it was written when all of it had been read."""
        if self.manifest is None:
            return frozenset()
        ours = {one.path: one for one in self.manifest.files}
        return frozenset(
            one.path
            for one in manifest.files
            if one.path in ours and ours[one.path].size == one.size and one.sha256 in {None, ours[one.path].sha256}
        )

    def is_complete(self, manifest: Manifest) -> bool:
        return self.manifest is not None and len(self.present(manifest)) == len(manifest.files)

    def sum_of(self, path: str) -> str | None:
        listed = {one.path: one.sha256 for one in self.manifest.files} if self.manifest else {}
        return self.sums().get(path) or listed.get(path)


def look(fleet: Fleet, asked: Mapping[str, Asked]) -> dict[str, Seen]:
    """Ask all hosts at once. Raises what any of them could not tell."""
    outcomes = look_each(fleet, asked)
    raise_all([one for one in outcomes.values() if isinstance(one, BringupError)])
    return {host: one for host, one in outcomes.items() if not isinstance(one, BringupError)}


def look_each(fleet: Fleet, asked: Mapping[str, Asked]) -> dict[str, Seen | BringupError]:
    return fleet.each(partial(_looked, asked=asked), list(asked))


def _looked(transport: Transport, asked: Mapping[str, Asked]) -> Seen:
    answer = in_time(transport.run(look_script(asked[transport.host]), timeout=LOOK_S), transport.host)
    return read_look(transport.host, answer.text)


def look_script(asked: Asked) -> str:
    """Lines of `key TAB value ...`; files and records come as they are, in base64."""
    at, state = quote(asked.folder), quote(asked.state_dir)
    return f"""at={at}
near=$at; while [ ! -d "$near" ]; do near=$(dirname -- "$near"); done
printf 'free\\t%s\\n' "$(df -P -B1 -- "$near" 2>/dev/null | awk 'NR == 2 {{ print $4 }}')"
printf 'system\\t%s\\n' "$(stat -f -c %T -- "$near" 2>/dev/null)"
if [ -r "$at/{NAME}" ]; then printf 'manifest\\t%s\\n' "$(base64 -w0 <"$at/{NAME}")"; fi
if [ -r "$at/{VERIFIED}" ]; then printf 'verified\\t%s\\n' "$(base64 -w0 <"$at/{VERIFIED}")"; fi
if cd -- "$at" 2>/dev/null; then
  find . \\( -path ./.cache -o -name '.bringup-*' \\) -prune -o \\( -type f -o -type l \\) \\
    -exec stat -L --printf 'file\\t%s\\t%.9Y\\t%n\\n' {{}} + 2>/dev/null
  find .cache -name '*.incomplete' -type f -exec stat --printf 'part\\t%b\\n' {{}} + 2>/dev/null
  if [ -d {WORK}/parts ]; then (cd {WORK}/parts && find . -type f -exec stat --printf 'sent\\t%s\\t%n\\n' {{}} +); fi
fi
for tool in {" ".join(quote(one) for one in asked.tools)}; do
  if [ -e "$tool/{MARKER}" ] && [ -x "$tool/bin/hf" ]; then printf 'tool\\t%s\\n' "$tool"; break; fi
done
if python3 -c 'import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})' 2>/dev/null; then printf 'python\\tyes\\n'; fi
if [ -r {state}/{RATE} ]; then printf 'rate\\t%s\\n' "$(head -c 20 {state}/{RATE})"; fi
{_reach(asked)}{_source(asked)}"""


def _source(asked: Asked) -> str:
    if asked.at is None:
        return ""
    return f"if [ -d {quote(asked.at)} ]; then printf 'source\\tyes\\n'; else printf 'source\\tno\\n'; fi\n"


def _reach(asked: Asked) -> str:
    """The address goes by stdin: it may hold a password."""
    if asked.reach is None:
        return ""
    told = json.dumps({"url": asked.reach, "proxy": asked.proxy})
    return f"""if command -v python3 >/dev/null; then timeout {REACH_S + 4} python3 - <<'END' 2>/dev/null
import json, urllib.error, urllib.request
told = json.loads({told!r})
proxies = dict.fromkeys(("http", "https"), told["proxy"]) if told["proxy"] else None
opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
try:
    opener.open(urllib.request.Request(told["url"], method="HEAD"), timeout={REACH_S}).close()
    print("reaches\\tyes")
except urllib.error.HTTPError:
    print("reaches\\tyes")
except Exception as error:
    print("reaches\\tno " + str(getattr(error, "reason", error)).replace("\\n", " "))
END
fi
"""


NETWORKS = ("nfs", "nfs4", "lustre", "gpfs", "ceph", "fuse.ceph", "cifs", "smb", "smb2", "beegfs", "fuseblk.nfs")


def read_look(host: str, answer: str) -> Seen:
    """Read the answer of `look_script`; what cannot be read counts as not there."""
    values: dict[str, str] = {}
    rows: dict[str, list[list[str]]] = {"file": [], "part": [], "sent": []}
    for line in answer.splitlines():
        key, *cells = line.split("\t")
        if key in rows:
            rows[key].append(cells)
        elif cells:
            values[key] = cells[0]
    reaches, _, why_not = values.get("reaches", "").partition(" ")
    return Seen(
        host=host,
        free=_number(values.get("free", "")),
        manifest=_manifest(values.get("manifest", "")),
        verified=_verified(values.get("verified", "")),
        files={c[2].removeprefix("./"): (int(c[0]), c[1]) for c in rows["file"] if len(c) == 3 and c[0].isdecimal()},
        parts=sum(512 * int(cells[0]) for cells in rows["part"] if cells and cells[0].isdecimal()),
        sent={c[1].removeprefix("./"): int(c[0]) for c in rows["sent"] if len(c) == 2 and c[0].isdecimal()},
        tool=values.get("tool"),
        python="python" in values,
        reaches=_YES_NO.get(reaches),
        why_not=why_not,
        rate=_number(values.get("rate", "").strip()),
        network=values.get("system", "") if values.get("system", "").startswith(NETWORKS) else "",
        has_source=_YES_NO.get(values.get("source", "")),
    )


_YES_NO = {"yes": True, "no": False}


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _manifest(text: str) -> Manifest | None:
    try:
        return read_manifest(_decoded(text)) if text else None
    except (ValueError, TypeError):
        return None


def _verified(text: str) -> dict[str, tuple[int, str, str]]:
    """Size, time of change (as `stat` writes it) and sha256 by path."""
    try:
        told = json.loads(_decoded(text)) if text else {}
        return {
            str(path): (int(size), f"{int(when) // 10**9}.{int(when) % 10**9:09d}", str(sha256))
            for path, (size, when, sha256) in told.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}
