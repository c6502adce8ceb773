"""A lab from nothing to hosts that answer SSH, and back to nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from inventory.errors import BadInput
from inventory.lab import (
    access,
    addresses,
    boot,
    cgroups,
    disks,
    hardware,
    interpreters,
    network,
    prerequisites,
    process,
    state,
)
from inventory.lab import profile as profiles
from inventory.lab.image import write_disk, write_image
from inventory.lab.profile import Profile
from inventory.lab.simulated import Weights, write_environment, write_weights
from inventory.lab.state import DEFAULT, Lab, LabHost
from inventory.lab.units import write_units

STATE_DIR = "/var/lib/bringup"


@dataclass(frozen=True, slots=True)
class Equipment:
    """What every host of a lab finds on its disk or in its network, besides what its profile says.

    `environments` is a folder whose folders appear read-only below `<state dir>/envs`, without a copy;
    `extra_environments` does that for single digests. `copied_environments` are copied into memory instead (the
    stand-in engine's: a few hundred KiB). `weights` are model folders of the right sizes without content. `disk`: size
    of each disk as tmpfs takes it ("64M"), None: what the profile says. `default_route`: hosts have one (it leads
    nowhere). `systemd`: it is the hosts' first process, with no other unit than sshd's.
    """

    environments: Path | None = None
    extra_environments: Mapping[str, Path] = field(default_factory=dict)
    copied_environments: Mapping[str, Path] = field(default_factory=dict)
    weights: tuple[Weights, ...] = ()
    disk: str | None = None
    default_route: bool = False
    systemd: bool = False

    def bound(self) -> dict[str, Path]:
        """The environments of this machine that hosts see, by digest."""
        folders = sorted(self.environments.iterdir()) if self.environments else []
        return {path.name: path for path in folders if path.is_dir()} | dict(self.extra_environments)


NOTHING = Equipment()


def up(
    hosts: int | Sequence[str],
    profile: str = "cpu",
    *,
    name: str = DEFAULT,
    equipment: Equipment = NOTHING,
    timeout_s: float = 60.0,
) -> Lab:
    """Make a lab of `hosts` (a number: tray1, tray2, ...; or their names) and return when SSH answers on all.

    Raises `BadInput` for a name, number or profile that cannot be, or a lab that is up already; `CheckFailed`
    where this machine cannot carry one; `ChangeFailed` when it did not come up (what was made is gone again).
    """
    host_names = state.checked_hosts(hosts)
    told = profiles.load(profile)
    prerequisites.check(systemd=equipment.systemd)
    lab = _claim(state.checked_name(name), host_names, profile, told, equipment)
    try:
        _make(lab, told, equipment)
        boot.start(lab, lab.hosts, timeout_s=timeout_s)
    except BaseException:
        with suppress(BadInput):  # another process took it down meanwhile
            down(name)
        raise
    return lab


def down(name: str = DEFAULT) -> tuple[str, ...]:
    """Remove the lab `name`, whole or half made, from whichever process; returns what was removed, in words.

    `BadInput` when there is none. Nothing of it is left: processes, namespaces, mounts, links, files.
    """
    with state.locked():
        lab = state.load(name)
        on = boot.running(lab, lab.hosts)
        for _, pid in on:
            process.kill(pid)
        removed = [f"{len(on)} running hosts"] if on else []
        removed += cgroups.remove(lab)
        removed += network.remove_leg(lab)
        removed += disks.remove_files(lab)
    return tuple(removed)


def labs() -> tuple[tuple[Lab, tuple[str, ...]], ...]:
    """Every lab of this machine with the names of its hosts that are on."""
    there = map(state.load, state.names())
    return tuple((lab, tuple(host.name for host, _ in boot.running(lab, lab.hosts))) for lab in there)


def _binds(equipment: Equipment) -> tuple[tuple[str, str], ...]:
    environments = equipment.bound()
    seen = (*environments.values(), *equipment.copied_environments.values())
    binds = [(str(path.resolve()), f"{STATE_DIR}/envs/{digest}") for digest, path in environments.items()]
    binds += [(str(path), str(path)) for path in interpreters.prefixes(seen)]
    return tuple(binds)


def _claim(name: str, host_names: Sequence[str], profile: str, told: Profile, equipment: Equipment) -> Lab:
    """Take networks that nobody has and write the record: from here on `down` knows what to remove."""
    with state.locked():
        if name in state.names():
            _refuse_or_clear(name)
        control, fabric = map(str, addresses.free_networks(addresses.taken_networks(), 2))
        lab = Lab(
            name=name,
            profile=profile,
            simulated=told.hardware is not None,
            boot_id=state.machine_boot_id(),
            networks=(control, fabric),
            leg=addresses.leg_name(control),
            hosts=tuple(
                LabHost(host, number, addresses.of_host(control, number), addresses.of_host(fabric, number))
                for number, host in enumerate(host_names, 1)
            ),
            binds=_binds(equipment),
            systemd=equipment.systemd,
        )
        lab.folder.mkdir(mode=0o700, exist_ok=True)
        state.save(lab)
    return lab


def _refuse_or_clear(name: str) -> None:
    lab = state.load(name)
    if lab.survived:
        raise BadInput(
            f"a lab named {name} is up already",
            id="lab-input",
            observed=f"{len(lab.hosts)} hosts, profile {lab.profile}",
            required="a name that is free",
            next_command="invoke lab.down",
        )
    shutil.rmtree(lab.folder)  # this machine restarted: only files are left of it


def _make(lab: Lab, told: Profile, equipment: Equipment) -> None:
    """Make the wires and everything that the hosts' first boot finds."""
    network.make_switch(lab)
    for host in lab.hosts:
        lab.of(host.name).mkdir(mode=0o700, parents=True)
    access.make_keys(lab)
    access.write_access(lab)
    _write_shared(lab, told, equipment)
    for host in lab.hosts:
        upper = disks.make_disk(lab.disk(host.name), equipment.disk or told.disk)
        write_disk(lab, host, upper, hardware.settings(told))
        hardware.write_own(told, upper, lab.name, host.name)
        commands = network.host_commands(lab, host, default_route=equipment.default_route)
        (lab.disk(host.name) / "network").write_text(commands)


def _write_shared(lab: Lab, told: Profile, equipment: Equipment) -> None:
    disks.mount(lab.image, "100%")
    write_image(lab, lab.image, prerequisites.sshd_options())
    if lab.systemd:
        write_units(lab.image)
    hardware.write_shared(told, lab.image, interpreters.own())
    for digest, source in equipment.copied_environments.items():
        write_environment(lab.image, STATE_DIR, digest, source)
    for weights in equipment.weights:
        write_weights(lab.image, STATE_DIR, weights)
