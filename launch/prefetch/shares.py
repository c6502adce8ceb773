"""Which host brings which files from outside, so that their outside links add up. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launch.prefetch.manifest import Manifest

MOST_SOURCES = 4
"""A hub counts who asks it: more hosts are not faster where its own link, or the site's, is full."""


def shares_of(manifest: Manifest, hosts: Sequence[str], missing: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The paths of `missing` by host, about the same number of bytes for each.

    A file has the same host whatever is missing, as long as the hosts are the same: a run that was cut off goes on with
    the parts that it had begun.
    """
    load: dict[str, int] = dict.fromkeys(hosts, 0)
    shares: dict[str, list[str]] = {host: [] for host in hosts}
    for one in sorted(manifest.files, key=lambda file: (-file.size, file.path)):
        host = min(load, key=lambda name: (load[name], list(hosts).index(name)))
        load[host] += max(one.size, 1)
        if one.path in missing:
            shares[host].append(one.path)
    return {host: tuple(sorted(paths)) for host, paths in shares.items() if paths}


def nowhere(manifest: Manifest, present: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Paths that no host has verified."""
    return frozenset(one.path for one in manifest.files) - frozenset().union(*present.values())
