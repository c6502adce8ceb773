"""Where this machine itself gets Python packages from: the settings of uv and pip, and pip's own default."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache

_PIP_S = 20
_SETTING = re.compile(r"global\.([a-z-]+)='(.*)'")
_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
_PIPS = ((sys.executable, "-m", "pip"), ("python3", "-m", "pip"), ("pip3",), ("pip",))


def own_indexes(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Addresses of indexes, and folders of wheels, in the order in which they are asked; none: nothing is set."""
    settings = pip_settings()
    first = first_set(environ, "UV_DEFAULT_INDEX", "PIP_INDEX_URL") or settings.get("index-url", "") or pip_default()
    extra = first_set(environ, "UV_INDEX", "PIP_EXTRA_INDEX_URL") or settings.get("extra-index-url", "")
    links = first_set(environ, "UV_FIND_LINKS", "PIP_FIND_LINKS") or settings.get("find-links", "")
    folders = [one for one in re.split(r"[\s,]+|\\n", links) if one.startswith("/")]
    indexes = [one for one in re.split(r"\s+|\\n", f"{first} {extra}") if "://" in one]
    return (*folders, *indexes)


def first_set(environ: Mapping[str, str], *names: str) -> str:
    """The value of the first of `names` that has one; empty: none has."""
    return next((environ[name] for name in names if environ.get(name)), "")


@cache
def pip_settings() -> dict[str, str]:
    return dict(_SETTING.findall(_asked("config", "list")))


@cache
def pip_default() -> str:
    """The index that pip has built in: the address of the public one stands nowhere here."""
    for words in ((sys.executable,), ("python3",), ("/usr/bin/python3",)):
        if answer := said([*words, "-c", _DEFAULT]):
            return answer.strip()
    return ""


def _asked(*arguments: str) -> str:
    return next((answer for pip in _PIPS if (answer := said([*pip, *arguments]))), "")


def said(words: Sequence[str]) -> str:
    """What a program prints; empty where it is not there, fails or takes too long."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PIP_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
