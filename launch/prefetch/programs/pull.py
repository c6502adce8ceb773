"""Fetch files by HTTP, or from a folder of this host: `python3 -m programs.pull PULL.json`, one after the other.

For sources that the host has no client for. Goes on where it was cut off; whoever starts it verifies what came.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import Any

from .client import die_with_parent
from .folder import pieces

WORDS = {401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests"}
TIMEOUT_S = 30


def main() -> None:
    die_with_parent()
    wanted = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for url, final, part, size in wanted["pulls"]:
        Path(part).parent.mkdir(parents=True, exist_ok=True)
        Path(final).parent.mkdir(parents=True, exist_ok=True)
        try:
            _copied(url[7:], Path(part)) if url.startswith("file://") else _pulled(url, Path(part), size, wanted)
        except urllib.error.HTTPError as error:
            sys.exit(f"{error.code} {WORDS.get(error.code, 'Server Error')} for {_shown(url)}")
        except OSError as error:
            sys.exit(f"{_shown(url)}: {error}")
        if Path(part).stat().st_size < size:
            sys.exit(f"peer closed connection before all of {_shown(url)} had come")
        Path(part).replace(final)


def _pulled(url: str, part: Path, size: int, wanted: dict[str, Any]) -> None:
    there = part.stat().st_size if part.exists() else 0
    if there >= size > 0:
        return
    headers = {"Range": f"bytes={there}-"} if there else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  (http or https, written by us)
    token = Path(wanted["token"])
    if token.exists():  # goes to the first server only, not to where it sends us
        request.add_unredirected_header("Authorization", f"Bearer {token.read_text(encoding='utf-8').strip()}")
    opener = _opener(wanted["proxy"])
    with opener.open(request, timeout=TIMEOUT_S) as answer, part.open(_mode(answer.status)) as out:
        for piece in pieces(answer):
            out.write(piece)


def _mode(status: int | None) -> str:
    """Whether the rest came, or all of it anew."""
    return "ab" if status == HTTPStatus.PARTIAL_CONTENT else "wb"


def _copied(source: str, part: Path) -> None:
    """Go on where an earlier copy was cut off."""
    with Path(source).open("rb") as stream, part.open("ab") as out:
        stream.seek(out.tell())
        for piece in pieces(stream):
            out.write(piece)


def _opener(proxy: str | None) -> urllib.request.OpenerDirector:
    told = {"http": proxy, "https": proxy} if proxy else None
    return urllib.request.build_opener(urllib.request.ProxyHandler(told))


def _shown(url: str) -> str:
    return url.partition("?")[0]


if __name__ == "__main__":
    main()
