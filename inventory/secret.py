"""Text that must not be seen: tokens, and addresses that carry a password."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import pydantic

HIDDEN = "***"


class Secret(pydantic.Secret[str]):
    """Text that shows as `***` in str, repr, format and JSON; only `reveal()` gives it."""

    def _display(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def reveal(self) -> str:
        return self.get_secret_value()


class Url(Secret):
    """A URL whose user and password show as `***`; the rest is shown, because operators need to see it."""

    def _display(self) -> str:
        try:
            parts = urlsplit(self.get_secret_value())
        except ValueError:
            return HIDDEN
        _, at, server = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{HIDDEN}@{server}" if at else server))
