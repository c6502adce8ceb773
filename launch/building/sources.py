"""Where hosts download from, and the proxies of this machine, as checks are told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.facts.names import parse_proxies

if TYPE_CHECKING:
    from inventory.schema import Host
    from inventory.secret import Url
    from launch.building.requirements import Download
    from playbooks.requirements import Requirements

WHEELHOUSE = "wheelhouse"
"""The purpose of what the control machine gives a host in place of an index."""
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
        replace(one, fetches_from=urls, proxy=proxy(by_name[one.host])) if urls else one
        for one in needs.hosts
        for urls in (tuple(fetched_from(by_name[one.host], downloads[one.host])),)
    )
    lines = "\n".join(f"{name}={value}" for name, value in environ.items())
    return replace(needs, hosts=told, control_env=parse_proxies(lines))


def fetched_from(host: Host, downloads: Sequence[Download]) -> Iterator[str]:
    """Without names and passwords: whoever asks for them is there.

    A host without a way out is given everything; one that is given its wheels asks no index of packages.
    """
    missing = {one.purpose for one in downloads if not one.present}
    if host.internet is False:
        return
    if "environment" in missing and WHEELHOUSE not in missing:
        yield from _shown(host.mirrors.pypi, host.mirrors.torch)
    if "weights" in missing:
        yield from _shown(host.mirrors.hub)


def _shown(*urls: Url | None) -> Iterator[str]:
    return (LOGIN.sub("", url.reveal()) for url in urls if url is not None)


def proxy(host: Host) -> str | None:
    return host.proxy.reveal() if host.proxy else None
