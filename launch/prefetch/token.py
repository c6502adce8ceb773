"""The hub's token of whoever types: read here, given to hosts as a file that only they read, and shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from inventory.errors import BadInput
from inventory.secret import Secret

VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def hub_token(environ: Mapping[str, str] = os.environ) -> Secret | None:
    """HF_TOKEN, the file HF_TOKEN_PATH, or what `hf auth login` left; None: there is none. Raises `BadInput`."""
    for name in VARIABLES:
        if environ.get(name, "").strip():
            return _secret(environ[name], name)
    home = environ.get("HF_HOME") or f"{environ.get('XDG_CACHE_HOME', '~/.cache')}/huggingface"
    path = Path(environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    return _secret(text, str(path)) if text.strip() else None


def _secret(text: str, where: str) -> Secret:
    token = text.strip()
    if token.isascii() and token.isprintable() and " " not in token:
        return Secret(token)
    raise BadInput(
        "the hub's token cannot be used",
        id="hub-token",
        observed=f"{where} does not hold one word of plain characters",
        required="a token as the hub shows it once, hf_...",
        next_command="hf auth login",
    )
