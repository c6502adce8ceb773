"""Indexes of Python packages: the simple API as JSON (PEP 691) or HTML (PEP 503), and folders of wheels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from playbooks.web import StatusError, Web, unanswered
from playbooks.wheelhouse.target import WHEEL, normal

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.2, */*;q=0.01"


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file that an index offers. None: it does not tell."""

    name: str
    url: str
    sha256: str | None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """`url` of a simple API, with or without a slash at its end; or the path of a folder of wheels."""

    url: str
    web: Web

    def files(self, name: str) -> tuple[IndexFile, ...]:
        """What it has of a distribution (normalised name), newest and oldest; nothing where it does not know it.

        Raises `CheckFailed` for an index that does not answer.
        """
        if self.url.startswith("/"):
            return tuple(_in_folder(Path(self.url), name))
        page = f"{self.url.rstrip('/')}/{name}/" + ("index.html" if self.url.startswith("file:") else "")
        try:
            answer = self.web.read(page, {"Accept": _ACCEPT})
        except StatusError as error:
            if error.status in {403, 404, 410}:  # 403: stores of files answer so for what is not there
                return ()
            raise unanswered(page, error) from None
        if "json" in answer.headers.get("content-type", ""):
            return tuple(read_json(answer.body, page))
        return tuple(read_html(answer.body, page))

    def measured(self, file: IndexFile) -> IndexFile:
        """The same with its size, asked of the server where the index did not tell it."""
        if file.size is not None:
            return file
        try:
            with self.web.read(file.url, method="HEAD") as answer:
                if answer.length is not None:
                    return replace(file, size=answer.length)
        except StatusError as error:
            raise unanswered(file.url, error) from None
        raise unanswered(file.url, OSError("it does not tell the length of the file"))


def read_json(body: bytes, page: str) -> Iterator[IndexFile]:
    try:
        files = json.loads(body)["files"]
        for one in files:
            if not one.get("yanked"):
                size = one.get("size")
                url = with_login(urljoin(page, one["url"]), page)
                yield IndexFile(one["filename"], url, one.get("hashes", {}).get("sha256"), size)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unanswered(page, OSError(f"not an index: {error}")) from None


def read_html(body: bytes, page: str) -> Iterator[IndexFile]:
    links = _Links()
    links.feed(body.decode("utf-8", errors="replace"))
    for href in links.found:
        url = urljoin(page, href)
        parts = urlsplit(url)
        kind, _, sum_ = parts.fragment.partition("=")
        name = unquote(parts.path.rpartition("/")[2])
        sha256 = sum_ if kind == "sha256" and len(sum_) == 64 else None
        yield IndexFile(name, with_login(parts._replace(fragment="").geturl(), page), sha256)


def with_login(url: str, page: str) -> str:
    """The user and password of the index, for files on its own server only."""
    ours, theirs = urlsplit(page), urlsplit(url)
    user, at, server = ours.netloc.rpartition("@")
    return theirs._replace(netloc=f"{user}@{server}").geturl() if at and theirs.netloc == server else url


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "a" and told.get("href") and "data-yanked" not in told:
            self.found.append(told["href"] or "")


def _in_folder(folder: Path, name: str) -> Iterator[IndexFile]:
    for path in sorted(folder.glob("*.whl")):
        parts = WHEEL.fullmatch(path.name)
        if parts and normal(parts["name"]) == name:
            with path.open("rb") as file:
                sum_ = hashlib.file_digest(file, "sha256").hexdigest()
            yield IndexFile(path.name, str(path), sum_, path.stat().st_size)
