"""Which hosts reach a package index, and the wheels for those that do not, as the index of this machine has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError, CheckFailed, raise_all
from inventory.quoting import quote
from launch.building.assemble import assemble
from launch.building.images import with_images
from launch.building.offline import cannot_begin, cargo_of, is_installed, pins_of, target_of, wanted_of, with_wheelhouse
from launch.choosing.outline import launched
from playbooks.web import Web
from playbooks.wheelhouse.control import own_indexes
from playbooks.wheelhouse.index import Index
from playbooks.wheelhouse.python import build_for, python_file
from playbooks.wheelhouse.resolve import resolve
from playbooks.wheelhouse.store import Store, default_folder

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.transport.base import Transport
    from launch.building.assemble import Assembly
    from launch.building.engine import Engine
    from launch.catalogue.find import Found
    from launch.choosing.outline import Outline
    from launch.console.report import Report
    from launch.request import Request
    from playbooks.cargo import CargoFile
    from playbooks.environments import EnvironmentDefinition
    from playbooks.wheelhouse.target import Target

REACH_S = 20.0
UNREACHED = "unreached"

# The inventory's index is asked. Whoever has set the host up with sources of its own (an index, folders of wheels)
# knows better than we do: unknown. Else pip itself knows the address of the public index.
_REACH = r"""proxy=%s
if [ -n "$proxy" ]; then export http_proxy="$proxy" https_proxy="$proxy" no_proxy=%s; fi
index=%s
if [ -z "$index" ]; then
  own="${UV_DEFAULT_INDEX:-}${UV_INDEX:-}${UV_FIND_LINKS:-}${PIP_INDEX_URL:-}${PIP_EXTRA_INDEX_URL:-}${PIP_FIND_LINKS:-}"
  for file in /etc/pip.conf /etc/xdg/pip/pip.conf "${HOME:-}/.config/pip/pip.conf" "${HOME:-}/.pip/pip.conf" \
    /etc/uv/uv.toml "${HOME:-}/.config/uv/uv.toml"; do
    if [ -s "$file" ]; then own=$file; fi
  done
  if [ -n "$own" ]; then echo unknown; exit 0; fi
fi
if ! command -v python3 >/dev/null; then index=; fi
if [ -n "$index" ] || python3 -c 'import pip' 2>/dev/null; then
  timeout 12 python3 - "$index" <<'END' && exit 0
import sys, urllib.error, urllib.request
index = sys.argv[1]
if not index:
    from pip._internal.models.index import PyPI
    index = PyPI.simple_url
try:
    urllib.request.urlopen(urllib.request.Request(index.rstrip("/") + "/pip/", method="HEAD"), timeout=8).close()
except urllib.error.HTTPError:
    pass
except (OSError, ValueError) as error:
    print("unreached", getattr(error, "reason", error))
    sys.exit(0)
print("reached")
END
  echo 'unreached no answer within 12 s'
  exit 0
fi
if [ -z "$(ip route show default 2>/dev/null; ip -6 route show default 2>/dev/null)" ]; then
  echo 'unreached no default route'
else
  echo 'unknown'
fi
"""


def supplied(found: Found, request: Request, fleet: Fleet, facts: Mapping[str, HostFacts], report: Report) -> Assembly:
    """The launch on these hosts, with what those without a way out are given from here."""
    one = launched(found, request, tuple(fleet.hosts.values()), facts)
    engines = supplied_engines(one, fleet, facts, report)
    return assemble(one.decision, one.name, one.choice.hosts, facts, engines, os.environ)


def supplied_engines(
    one: Outline, fleet: Fleet, facts: Mapping[str, HostFacts], report: Report
) -> Mapping[str, Engine]:
    """The engines of `one`, those of hosts without a way out with a wheelhouse. Raises `CheckFailed`."""
    engines = with_images(one, fleet, facts, report)
    open_ones = {name: engine for name, engine in engines.items() if not is_installed(engine)}
    why = _without_way_out(open_ones, fleet)
    for name, engine in open_ones.items():
        if name not in why and cannot_begin(facts[name], wanted_of(engine)):
            why[name] = f"no Python {wanted_of(engine).requires_python} and no uv there"
    if not why:
        return engines
    addresses = {node.host: node.address for node in one.decision.placement.nodes if node.address}
    targets = _targets({name: open_ones[name] for name in why}, facts)
    found: dict[Target, tuple[CargoFile, ...]] = {}
    for name, target in targets.items():
        engine, host = engines[name], fleet.hosts[name]
        if target not in found:
            found[target] = wheels(wanted_of(engine), target, host)
            _say(report, [key for key, its in targets.items() if its == target], why, found[target])
        cargo = cargo_of(host, wanted_of(engine), target, found[target], addresses)
        engines[name] = with_wheelhouse(engine, cargo, target)
    return engines


def wheels(wanted: EnvironmentDefinition, target: Target, host: Host) -> tuple[CargoFile, ...]:
    """All wheels of an environment, and Python where the target has none. Raises `CheckFailed` for what is nowhere."""
    web = Web(host.proxy.reveal() if host.proxy else None, host.no_proxy)
    torch = [host.mirrors.torch.reveal()] if host.mirrors.torch else []
    common = [host.mirrors.pypi.reveal()] if host.mirrors.pypi else list(own_indexes())
    if not common:
        raise CheckFailed(
            "this machine knows no package index",
            id="index-unknown",
            observed="neither mirrors: pypi: in the inventory, nor settings of uv or pip here, nor pip",
            required="an index to fetch the locked wheels from",
            next_command="set mirrors: pypi: in the inventory",
        )
    pins, apart = pins_of(wanted, target)
    found = resolve(pins, target, [Index(url, web) for url in common])
    python = (_python(wanted, target, host, web),) if target.python_given else ()
    return (*found, *resolve(apart, target, [Index(url, web) for url in (*torch, *common)]), *python)


def _python(wanted: EnvironmentDefinition, target: Target, host: Host, web: Web) -> CargoFile:
    build = build_for(target.machine, wanted.python_minors)
    assert build is not None  # noqa: S101  (the target was made of it)
    return python_file(build, host.mirrors.python.reveal() if host.mirrors.python else None, web, os.environ)


def reach_script(host: Host) -> str:
    """Print `reached`, `unreached WHY` or `unknown`."""
    proxy = host.proxy.reveal() if host.proxy else ""
    index = host.mirrors.pypi.reveal() if host.mirrors.pypi else ""
    return _REACH % (quote(proxy), quote(",".join(host.no_proxy)), quote(index))


def _without_way_out(engines: Mapping[str, Engine], fleet: Fleet) -> dict[str, str]:
    """Hosts that need a wheelhouse, and why: as the inventory says, else as they answer; unknown is left to uv."""
    why = {name: "internet: false in the inventory" for name in engines if fleet.hosts[name].internet is False}
    asked = [name for name in engines if fleet.hosts[name].internet is None]

    def one(transport: Transport) -> str:
        return transport.run(reach_script(fleet.hosts[transport.host]), timeout=REACH_S).text.strip()

    for name, said in (fleet.all(one, asked) if asked else {}).items():
        word, _, reason = said.partition(" ")
        if word == UNREACHED:
            why[name] = f"its package index does not answer: {reason[:120]}"
    return why


def _targets(engines: Mapping[str, Engine], facts: Mapping[str, HostFacts]) -> dict[str, Target]:
    """By host; of hosts that differ in glibc alone, the oldest of them counts for all."""
    targets: dict[str, Target] = {}
    errors: list[BringupError] = []
    for name, engine in engines.items():
        try:
            targets[name] = target_of(facts[name], wanted_of(engine))
        except BringupError as error:
            errors.append(error)
    raise_all(errors)
    alike = {name: replace(one, glibc=(0, 0)) for name, one in targets.items()}
    return {
        name: replace(one, glibc=min(targets[other].glibc for other in targets if alike[other] == alike[name]))
        for name, one in targets.items()
    }


def _say(report: Report, hosts: list[str], why: Mapping[str, str], files: tuple[CargoFile, ...]) -> None:
    reasons = "; ".join(dict.fromkeys(why[name] for name in hosts))
    size = sum(one.size for one in files)
    missing = sum(one.size for one in Store(default_folder()).missing(files))
    report.say(f"  {', '.join(hosts)}: given everything from here ({reasons})")
    spread = "to one of them, and from there to the others" if len(hosts) > 1 else "there"
    report.say(f"  {len(files)} files, {size / 1e9:.2f} GB ({missing / 1e9:.2f} GB to fetch), go from here {spread}")
