"""What the hosts are."""

from __future__ import annotations

from pathlib import Path

from inventory.errors import ExitCode, raise_all
from launch.verbs import arguments


def probe(  # noqa: PLR0913  (its flags)
    *,
    hosts: str,
    inventory: str,
    host_detail: bool,
    save: str,
    raw: bool,
    replay: str,
    diff: str,
    json: bool,
) -> ExitCode:
    from launch.hosts import probe as look

    look.refuse_flags(save_at=save, raw=raw, diff=diff, host_detail=host_detail)
    answered = arguments.answered(hosts, inventory, replay, opinion=True, drawn=not json)
    if save:
        look.keep(Path(save), answered, raw=raw)
    if diff:
        look.show_changes(Path(diff), answered, json=json)
    else:
        look.show(answered, host_detail=host_detail, json=json)
    raise_all(list(answered.errors.values()))
    return ExitCode.DONE
