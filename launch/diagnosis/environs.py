"""What differs between the environments of ranks: a variable that only one host has is a classic. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

OF_EACH = frozenset(
    {"VLLM_HOST_IP", "HOSTNAME", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "NCCL_IB_GID_INDEX"}
)
"""Each host has its own."""


def differences(environments: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """A line for each variable whose value is not the same everywhere: `NAME: tray1=..., tray2 has none`."""
    names = sorted({name for own in environments.values() for name in own})
    for name in names:
        values = {host: own.get(name) for host, own in environments.items()}
        if len(set(values.values())) > 1:
            told = ", ".join(f"{host} has none" if one is None else f"{host}={one}" for host, one in values.items())
            yield f"{name}{' (each its own)' if name in OF_EACH else ''}: {told}"
