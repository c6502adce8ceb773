"""The key that clients must send. It is never a word of a command line, and shows as `***`.

vLLM reads it from the environment; on a host it is a file that only the user of the ranks may read.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import BadInput
from inventory.secret import Secret

GENERATE = "generate"
_KEY = re.compile(r"[!-~]{16,256}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`origin`: the file on the control machine that holds it."""

    secret: Secret
    origin: str

    @property
    def digest(self) -> str:
        """Tells one key from another: 12 hexadecimal digits of SHA-256, out of which no key can be read back."""
        return hashlib.sha256(self.secret.reveal().encode()).hexdigest()[:12]

    @property
    def shown_as(self) -> set[str]:
        """The texts that tell the key in steps and scripts, to be hidden wherever they are shown."""
        data = self.secret.reveal().encode()
        return {self.secret.reveal(), hashlib.sha256(data).hexdigest(), *base64.encodebytes(data).decode().split()}


def api_key(value: str, name: str) -> ApiKey | None:
    """The key of `--api-key`: that of a file, or with `generate` one that is made once for the deployment `name`.

    Raises `BadInput` when the file cannot be read or holds no key.
    """
    if not value:
        return None
    path = _generated(name) if value == GENERATE else Path(value).expanduser()
    if value == GENERATE:
        _generate(path)
    return ApiKey(Secret(_read(path)), str(path))


def kept_key(name: str) -> Path | None:
    """The file of the key that was generated for the deployment `name`; None when this machine has none."""
    path = _generated(name)
    return path if path.exists() else None


def guard_key(name: str) -> ApiKey:
    """What the guards of a deployment know each other by: made once, and kept on this machine like a key of clients."""
    path = _generated(f"{name}.guard")
    _generate(path)
    return ApiKey(Secret(_read(path)), str(path))


def _generated(name: str) -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "bringup" / "api-keys" / name


def _generate(path: Path) -> None:
    """Make a key unless there is one: typed again, the same key holds."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise _unusable(path, f"{type(error).__name__}: the file cannot be read") from None
    if not _KEY.fullmatch(text):
        raise _unusable(path, "what it holds is no key")
    return text


def _unusable(path: Path, observed: str) -> BadInput:
    return BadInput(
        "--api-key cannot be used",
        id="flag-value",
        observed=f"{path}: {observed}",
        required="a file with one key of 16 to 256 printable characters without spaces, or the word generate",
        next_command="the same command with --api-key generate",
    )
