"""Where weights come from: a hub, ModelScope, or a folder. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from launch.request import refused

DEFAULT_HUB = "https://huggingface.co"
DEFAULT_MODELSCOPE = "https://modelscope.cn"


class Origin(StrEnum):
    HUB = "hub"
    MODELSCOPE = "modelscope"
    FOLDER = "folder"


class Fetch(StrEnum):
    """Who brings the bytes: one host or several with a share each, every host itself, a common disk, this machine."""

    HUB_ONCE = "hub-once"
    HUB_EACH = "hub-each"
    SHARED = "shared"
    PUSH = "push"


@dataclass(frozen=True, slots=True)
class Source:
    """`folder`: absolute; on this machine for `push`, else on the hosts."""

    origin: Origin = Origin.HUB
    folder: str | None = None

    def __str__(self) -> str:
        return self.folder or self.origin.value


def read_source(typed: str, fetch: Fetch | None) -> Source:
    """`--from`: hub, modelscope, or an absolute folder. Raises `BadInput`."""
    if typed in {"", Origin.HUB, Origin.MODELSCOPE}:
        return Source(Origin(typed or Origin.HUB))
    if not re.fullmatch(r"/[^\x00-\x1f]*", typed) or "/../" in f"{typed}/":
        raise refused("from", typed, "hub, modelscope, or the absolute path of a folder")
    if fetch is None:
        needs = "--fetch beside it: push where the folder is here; hub-once, hub-each or shared on hosts"
        raise refused("from", typed, needs, instead="with --fetch push")
    return Source(Origin.FOLDER, typed.rstrip("/") or "/")


def read_fetch(typed: str) -> Fetch | None:
    if not typed:
        return None
    try:
        return Fetch(typed)
    except ValueError:
        raise refused("fetch", typed, f"one of {', '.join(Fetch)}") from None


def read_rate(typed: str) -> int | None:
    """`--limit-rate` in bytes a second: `200M`, `1.5G`, decimal as network people count. Raises `BadInput`."""
    if not typed:
        return None
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([kKMG]?)B?(?:/s)?", typed)
    rate = int(float(found[1]) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[found[2]]) if found else 0
    if rate < 1:
        raise refused("limit-rate", typed, "bytes a second of each host: 200M, 1.5G")
    return rate
