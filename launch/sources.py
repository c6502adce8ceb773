"""Where hosts download from, and the proxies of this machine, as checks are told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.facts.names import parse_proxies

if TYPE_CHECKING:
    from inventory.schema import Host
    from launch.requirements import Download
    from playbooks.requirements import Requirements

LOGIN = re.compile(r"(?<=://)[^/@]*@")


def with_sources(
    needs: Requirements,
    hosts: Sequence[Host],
    downloads: Mapping[str, Sequence[Download]],
    environ: Mapping[str, str],
) -> Requirements:
    """`needs` with the mirrors that each host would download from, and the proxies among `environ`.

    Only what the inventory names is known: a host without mirrors uses what its own tools are set up for.
    """
    by_name = {host.name: host for host in hosts}
    told = tuple(
        replace(one, fetches_from=tuple(mirrors(by_name[one.host])), proxy=proxy(by_name[one.host]))
        if any(not part.present for part in downloads[one.host])
        else one
        for one in needs.hosts
    )
    lines = "\n".join(f"{name}={value}" for name, value in environ.items())
    return replace(needs, hosts=told, control_env=parse_proxies(lines))


def mirrors(host: Host) -> Iterator[str]:
    """Without names and passwords: whoever asks for them is there."""
    for url in (host.mirrors.pypi, host.mirrors.torch, host.mirrors.hub):
        if url is not None:
            yield LOGIN.sub("", url.reveal())


def proxy(host: Host) -> str | None:
    return host.proxy.reveal() if host.proxy else None
