"""One wheel for each pin of a lock: the best for the target among those whose sum the lock names."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from inventory.errors import BringupError, CheckFailed, raise_all
from playbooks.cargo import CargoFile
from playbooks.wheelhouse.index import Index, IndexFile
from playbooks.wheelhouse.lock import Pin
from playbooks.wheelhouse.target import WHEEL, Target, fitness

AT_ONCE = 8


def resolve(pins: Sequence[Pin], target: Target, indexes: Sequence[Index]) -> tuple[CargoFile, ...]:
    """The wheels, in the order of the pins. Raises `CheckFailed` for all pins at once that have none."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="index") as pool:
        found = list(pool.map(lambda pin: _found(pin, target, indexes), pins))
    raise_all([one for one in found if isinstance(one, BringupError)])
    return tuple(one for one in found if isinstance(one, CargoFile))


def _found(pin: Pin, target: Target, indexes: Sequence[Index]) -> CargoFile | BringupError:
    seen: list[IndexFile] = []
    try:
        for index in indexes:
            offered = index.files(pin.name)
            seen += offered
            best = choose(pin, target, offered)
            if best is not None and best.sha256 is not None:
                sized = index.measured(best)
                return CargoFile(sized.name, sized.size or 0, best.sha256, sized.url)
    except BringupError as error:
        return error
    return _missing(pin, target, seen)


def choose(pin: Pin, target: Target, files: Sequence[IndexFile]) -> IndexFile | None:
    """The wheel that suits best; of one that the lock does not know nothing is taken."""
    suited = [
        (fits, file)
        for file in files
        if is_version(file.name, pin.version)
        and (file.sha256 in pin.hashes if pin.hashes else file.sha256 is not None)
        and (fits := fitness(file.name, target)) is not None
    ]
    return max(suited, key=lambda one: (one[0], one[1].name))[1] if suited else None


def is_version(filename: str, version: str) -> bool:
    """Whether a wheel has this version; names of files write a local version with `_` or `+`, and escape it in URLs."""
    parts = WHEEL.fullmatch(filename)
    return parts is not None and parts["version"].replace("_", "+").lower() == version.lower()


def _missing(pin: Pin, target: Target, seen: Sequence[IndexFile]) -> CheckFailed:
    same = [one for one in seen if is_version(one.name, pin.version)]
    fitting = [one for one in same if fitness(one.name, target) is not None]
    if fitting:
        observed = f"{fitting[0].name} has another sha256 than the lock names ({(fitting[0].sha256 or 'none')[:12]})"
    elif same:
        observed = f"for others only: {', '.join(one.name for one in same)[:300]}"
    else:
        observed = f"{len(seen)} files of {pin.name}, none of this version"
    return CheckFailed(
        f"the index has no wheel of {pin.requirement} for {target}",
        id="wheel-missing",
        observed=observed,
        required="the file that the lock names, in the index of this machine or of `mirrors: pypi:` and `torch:`",
        next_command="set mirrors: pypi: (and torch:) in the inventory to an index that has it",
    )
