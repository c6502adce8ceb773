"""What reaches the hosts: keys, known_hosts, ssh_config, and the inventory that bringup reads."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from inventory.lab.process import CLEAN_ENVIRONMENT, run
from inventory.lab.state import Lab


def make_keys(lab: Lab) -> None:
    """Make the lab's login key and each host's own key, all at once."""
    wanted = [(lab.folder / "id_ed25519", f"bringup lab {lab.name}")]
    wanted += [(lab.of(host.name) / "ssh_host_ed25519_key", host.name) for host in lab.hosts]
    makers = [subprocess.Popen(_keygen(path, comment), env=CLEAN_ENVIRONMENT) for path, comment in wanted]
    for maker, (path, _) in zip(makers, wanted, strict=True):
        if maker.wait(timeout=20) != 0:
            run(_keygen(path, "again"))  # says why


def _keygen(path: Path, comment: str) -> list[str]:
    return ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]


def write_access(lab: Lab) -> None:
    """Write known_hosts, ssh_config and hosts.yaml of a lab whose keys are there."""
    known = []
    for host in lab.hosts:
        key = (lab.of(host.name) / "ssh_host_ed25519_key.pub").read_text().split()[:2]
        known.append(f"{host.name},{host.name}-fabric,{host.control},{host.fabric} {' '.join(key)}\n")
    (lab.folder / "known_hosts").write_text("".join(known))
    lab.ssh_config.write_text(_ssh_config(lab))
    lab.inventory.write_text(_hosts_yaml(lab))


def _ssh_config(lab: Lab) -> str:
    hosts = [f"Host {host.name}\n  HostName {host.control}\n" for host in lab.hosts]
    every = " ".join(f"{host.name} {host.control}" for host in lab.hosts)
    return "".join(hosts) + (
        f"Host {every}\n"
        "  User root\n"
        f"  IdentityFile {lab.folder / 'id_ed25519'}\n"
        "  IdentitiesOnly yes\n"
        "  IdentityAgent none\n"
        f"  UserKnownHostsFile {lab.folder / 'known_hosts'}\n"
        "  GlobalKnownHostsFile none\n"
        "  StrictHostKeyChecking yes\n"
        "  BatchMode yes\n"
        "  ConnectTimeout 10\n"
    )


def _hosts_yaml(lab: Lab) -> str:
    """An inventory by hand, not by a YAML writer: every value was checked when the lab was made."""
    what = f"simulated hardware ({lab.profile})" if lab.simulated else "this machine's own processor"
    lines = [
        f"# The lab {lab.name}: Linux namespaces on this machine, {what}. Gone with `invoke lab.down`.",
        "defaults:",
        "  user: root",
        f"  ssh_config: {lab.ssh_config}",
        "  fabric_interface: fab0",
        "hosts:",
    ]
    lines += [f"  {host.name}: {{address: {host.control}, fabric_address: {host.fabric}}}" for host in lab.hosts]
    return "".join(f"{line}\n" for line in lines)


def ssh(lab: Lab, host: str, command: Sequence[str] = ()) -> list[str]:
    """The ssh command line that logs in to `host`."""
    return ["ssh", "-F", str(lab.ssh_config), host, *command]
