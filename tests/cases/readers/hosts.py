"""The host itself: ssh, limits, cores, launch context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inventory.errors import HostUnreachable
from inventory.facts.host import HostFacts
from inventory.schema import Host
from inventory.sshconfig import effective
from inventory.transport.framing import Unframer
from inventory.transport.sshfailure import explain
from tests.cases.reader import Files, Reader


def unframed(text: str, marker: str) -> tuple[str, str]:
    """What lies between the markers, and what around them. The case has its own form of the marker lines."""
    begin = re.sub(rf"^@@BEGIN-{re.escape(marker)}$", f"\n{marker} begin", text, count=1, flags=re.MULTILINE)
    framed = re.sub(rf"^@@END-{re.escape(marker)} rc=(\d+)$", rf"\n{marker} end \1", begin, count=1, flags=re.MULTILINE)
    unframer = Unframer(marker)
    unframer.feed(framed.encode())
    return unframer.body.decode(errors="replace"), unframer.noise.decode(errors="replace")


def error(host: str, own: Mapping[str, str]) -> HostUnreachable | None:
    """What ssh's words on its stderr mean; nothing when it said nothing."""
    words = own.get("stderr.txt", "")
    return explain(words, host, effective(Host(name=host))) if words.strip() else None


def _noise(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"noise": unframed(files.own["raw_stdout.txt"], files.shared["marker.txt"].strip())[1]}


READERS: tuple[Reader, ...] = (Reader(("raw_stdout.txt",), _noise), Reader(("stderr.txt",), lambda *_: {}))
