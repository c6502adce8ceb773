"""An engine's Python environment, complete when its marker is there: it is written last, after the engine answered."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inventory.quoting import quote, quote_all
from playbooks.environments import EnvironmentDefinition
from playbooks.plan import ABSENT, Phase, Step

MARKER = "bringup-env.json"
DEADLINE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Sources:
    """Where packages come from. What is None is left to the settings of uv and pip on the host.

    `index`: of Python packages. `torch_index`: of PyTorch's own wheels, for what the lock leaves apart. `python`: of
    builds of Python, where uv has to fetch one.
    """

    index: str | None = None
    python: str | None = None
    torch_index: str | None = None
    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wheelhouse:
    """A folder on the host that has every wheel of the lock for CPython 3.`minor`, and one of uv.

    `python`: the archive of that CPython, where the host has none.
    """

    folder: str
    minor: int
    python: str | None = None


def python_env(
    wanted: EnvironmentDefinition, *, folder: str, sources: Sources, wheelhouse: Wheelhouse | None = None
) -> Step:
    """Make the environment of `wanted` in `folder` (absolute; its name is the digest).

    With a `wheelhouse` nothing is asked outside the host.
    """
    how = "from its wheelhouse, " if wheelhouse else ""
    return Step(
        id=f"environment {wanted.name}",
        phase=Phase.PROVISION,
        why="every rank of a gang runs the same, locked packages, and none of the host's own",
        probe=_probe(folder),
        wanted=f"complete {wanted.digest}",
        script=_script(wanted, folder, sources, wheelhouse),
        summary=f"install {wanted.name} ({how}{wanted.size_bytes / 1e9:.1f} GB on disk)",
        deadline_s=DEADLINE_S,
    )


def _probe(folder: str) -> str:
    """An environment whose Python went away with the host's is broken, whatever its marker says."""
    env = quote(folder)
    return (
        f"if [ -e {env}/{MARKER} ] && [ -x {env}/bin/python ]; then "
        f'printf \'complete %s\' "$(sed -n \'s/.*"digest": *"\\([^"]*\\)".*/\\1/p\' {env}/{MARKER})"; '
        f"elif [ -e {env}/{MARKER} ]; then printf broken; "
        f"elif [ -e {env} ]; then printf partial; else printf {ABSENT}; fi"
    )


def _script(wanted: EnvironmentDefinition, folder: str, sources: Sources, wheelhouse: Wheelhouse | None) -> str:
    minors = " ".join(map(str, [wheelhouse.minor] if wheelhouse else wanted.python_minors))
    sources = Sources() if wheelhouse else sources
    marker = {"format_version": 1, "digest": wanted.digest, "vllm": wanted.vllm, "simulated": False}
    return "\n".join(
        (
            f"env_dir={quote(folder)}",
            f"requires_python={quote(wanted.requires_python)}",
            f"minors={quote(minors)}",
            f"needs_headers={'yes' if wanted.compiles else 'no'}",
            f"wheelhouse={quote(wheelhouse.folder if wheelhouse else '')}",
            f"python_archive={quote((wheelhouse.python if wheelhouse else None) or '')}",
            f"python_mirror={quote(sources.python or '')}",
            f"index={quote(sources.index or '')}",
            f"torch_index={quote(sources.torch_index or '')}",
            *_proxy(sources),
            (Path(__file__).parent / "python_env.sh").read_text(),
            "begin",
            f"base64 -d >\"$work/lock.txt\" <<'END'\n{_base64(wanted.lock.encode())}END",
            'install_locked "$work/lock.txt"',
            *((f"install_apart {quote_all(wanted.apart)}",) if wanted.apart else ()),
            *_added(wanted.added),
            f"prove {quote(wanted.program)} {quote(wanted.says)}",
            f"mark_complete {quote(json.dumps({**marker, 'name': wanted.name}))}",
            "",
        )
    )


def _proxy(sources: Sources) -> tuple[str, ...]:
    if not sources.proxy:
        return ()
    none = quote(",".join(sources.no_proxy))
    url = quote(sources.proxy)
    return (f"export http_proxy={url} https_proxy={url} no_proxy={none}",)


def _added(files: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(f"add {quote(path)} <<'END'\n{_base64(content)}END" for path, content in files.items())


def _base64(data: bytes) -> str:
    return base64.encodebytes(data).decode()
