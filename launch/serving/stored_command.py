"""Read back the `command.sh` of a generation: what a host's ranks are really started with. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
SERVE = "serve"
OURS = "BRINGUP_DEPLOYMENT"
"""What marks the processes of a deployment: whoever else has it would be stopped with it."""


@dataclass(frozen=True, slots=True)
class StoredCommand:
    """`program`: what stands before `serve`, its last word is vLLM's; `container`: `docker` or `podman`, or None.

    `env` is what the engine gets, without our own marks and the key that clients must send. `folder`: the generation's.
    `image`, and `arguments` that the container is run with, without its environment: empty where there is none.
    """

    program: str
    container: str | None
    env: dict[str, str]
    model: str
    options: tuple[str, ...]
    folder: str = ""
    image: str = ""
    arguments: tuple[str, ...] = ()

    def value_of(self, flag: str) -> str | None:
        """The value of an option that stands once and has one, None when it is not there."""
        for place, word in enumerate(self.options):
            if word == flag and place + 1 < len(self.options):
                return self.options[place + 1]
            if word.startswith(f"{flag}="):
                return word.partition("=")[2]
        return None


def read_command(text: str) -> StoredCommand | None:
    """Read a command file; None when it is not one that bringup wrote."""
    _, found, started = text.partition("\nexec env -i ")
    try:
        # A line that goes on is an escaped line break between blanks, which `shlex` takes for a word.
        words = [word for word in shlex.split(started) if word != "\n"]
        place = words.index(SERVE)
        model = words[place + 1]
    except (ValueError, IndexError):
        return None
    if not found:
        return None
    before = words[:place]
    image = ""
    arguments: tuple[str, ...] = ()
    engine = next((word for word in before if word in {"docker", "podman"}), None)
    if engine:
        named = before[before.index(engine) :]
        env = [word for flag, word in pairwise(named) if flag == "--env" and "=" in word]
        program, image = named[named.index("--entrypoint") + 1], named[-1]
        arguments = _without_env(named[2 : named.index("--entrypoint")])
    else:
        env = [word for word in before if _ASSIGNMENT.match(word)]
        program = before[-1]
    kept = {key: value for key, _, value in (word.partition("=") for word in env)}
    folder = kept.pop(OURS, "")
    return StoredCommand(program, engine, kept, model, tuple(words[place + 2 :]), folder, image, arguments)


def _without_env(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for before, word in pairwise(("", *words)) if "--env" not in {before, word})
