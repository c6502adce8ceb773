"""The flags of planned settings as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.planned.typed import Flags, typed_settings, yes_or_no
from launch.planned.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.choosing.settings import Setting


def planned_settings(flags: Mapping[str, str]) -> tuple[Setting, ...]:
    """What the flags set of vLLM's options. Raises `BadInput`."""
    return typed_settings(Flags(**{name: flags.get(name, "") for name in Flags.__dataclass_fields__}))


def wanted(flags: Mapping[str, str], model: str) -> Wanted:
    """What the flags ask for beside options. Raises `BadInput`."""
    from launch.caches.kv_memory import is_measured
    from launch.planned.api_key import api_key
    from launch.planned.lora import is_dynamic
    from launch.planned.profile import profile_named
    from launch.preload.daemon import is_daemon

    name = flags.get("name") or model.rpartition("/")[2].lower()
    return Wanted(
        profile=profile_named(flags.get("profile", "")),
        pins=yes_or_no("pinning", flags.get("pinning", ""), words="on or off") is not False,
        lora_dynamic=is_dynamic(flags.get("lora_loading", "")),
        api_key=api_key(flags.get("api_key", ""), name),
        kv_memory=is_measured(flags.get("kv_memory", "")),
        weights_daemon=is_daemon(flags.get("weights_from", "")),
    )
