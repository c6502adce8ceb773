"""What a registry says of an image: the digest behind a tag, its platforms, sizes and layers (OCI distribution API).

Nothing is pulled. Anonymous: a registry that wants a login is asked by the hosts' own docker, which has one.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from inventory.errors import BringupError, CheckFailed
from playbooks.images.image import Image
from playbooks.images.reference import Reference
from playbooks.web import Answer, StatusError, Web, unanswered

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_ACCEPT = ", ".join((*INDEXES, *MANIFESTS))
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|\[::1\]")


@dataclass(slots=True)
class Registry:
    """`server`: host[:port]. By https, but for this machine itself, as docker does it."""

    server: str
    web: Web
    _tokens: dict[str, str] = field(default_factory=dict)

    def look(self, reference: Reference, platform: str) -> Image:
        """What `reference` is now, for `platform` (linux/amd64). Raises `CheckFailed`, also for a platform it lacks."""
        wanted = reference.digest or reference.tag or "latest"
        document, digest = self._manifest(reference, wanted)
        if "manifests" not in document:
            return self._single(reference, document, digest)
        offered = dict(_offered(document))
        if platform not in offered:
            return Image(digest, platforms=tuple(offered))  # the check of platforms says the rest
        manifest, _ = self._manifest(reference, offered[platform])
        found = self._single(reference, manifest, digest)
        return Image(digest, found.layers, tuple(offered), found.compressed_bytes)

    def _single(self, reference: Reference, manifest: dict[str, Any], digest: str) -> Image:
        try:
            sizes = [int(layer["size"]) for layer in manifest["layers"]]
            config = self._json(reference, f"blobs/{manifest['config']['digest']}", manifest["config"]["digest"])[0]
            layers = tuple(str(one) for one in config["rootfs"]["diff_ids"])
            platform = f"{config.get('os', 'linux')}/{config['architecture']}"
        except (KeyError, TypeError, ValueError) as error:
            raise unanswered(self._url(reference, "manifests"), OSError(f"not an image's manifest: {error}")) from None
        return Image(digest, layers, (platform,), sum(sizes))

    def _manifest(self, reference: Reference, wanted: str) -> tuple[dict[str, Any], str]:
        return self._json(reference, f"manifests/{wanted}", wanted)

    def _json(self, reference: Reference, path: str, wanted: str) -> tuple[dict[str, Any], str]:
        """A document and its digest, which is computed here and never taken on trust."""
        url = self._url(reference, path)
        body = self._asked(reference, url).body
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        if wanted.startswith("sha256:") and wanted != digest:
            raise unanswered(url, OSError(f"the answer has the digest {digest}"))
        try:
            document = json.loads(body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise unanswered(url, OSError("not a document of a registry"))
        return document, digest

    def _asked(self, reference: Reference, url: str) -> Answer:
        headers = {"Accept": _ACCEPT}
        try:
            try:
                return self.web.read(url, headers | self._authorization(reference))
            except StatusError as error:
                if error.status != 401:
                    raise
                self._log_in(reference, error.headers.get("www-authenticate", ""))
                return self.web.read(url, headers | self._authorization(reference))
        except StatusError as error:
            raise _refused(reference, url, error) from None

    def _authorization(self, reference: Reference) -> dict[str, str]:
        token = self._tokens.get(reference.repository)
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _log_in(self, reference: Reference, challenge: str) -> None:
        """Get an anonymous token where the challenge says. Its realm must be encrypted where the registry is."""
        told = dict(_CHALLENGE.findall(challenge))
        realm = told.get("realm", "")
        if not challenge.lower().startswith("bearer") or urlsplit(realm).scheme not in self._schemes():
            raise StatusError(401, {"www-authenticate": challenge}, b"")
        query = {"service": told.get("service", ""), "scope": f"repository:{reference.repository}:pull"}
        answer = self.web.read(f"{realm}?{urlencode({key: value for key, value in query.items() if value})}")
        try:
            document = json.loads(answer.body)
            token = document.get("token") or document["access_token"]
        except (ValueError, KeyError, AttributeError):
            raise StatusError(401, {}, b"") from None
        self._tokens[reference.repository] = str(token)

    def _schemes(self) -> set[str]:
        return {"https"} if self._scheme == "https" else {"http", "https"}

    @property
    def _scheme(self) -> str:
        return "http" if _LOOPBACK.fullmatch(self.server.rpartition(":")[0] or self.server) else "https"

    def _url(self, reference: Reference, path: str) -> str:
        return f"{self._scheme}://{self.server}/v2/{reference.repository}/{path}"


def _offered(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Platforms and digests of an index; attestations stand among its images."""
    found = []
    for entry in document["manifests"] if isinstance(document["manifests"], list) else ():
        told = entry.get("platform") or {}
        system, machine = told.get("os", "linux"), told.get("architecture", "")
        if machine and machine != "unknown" and system != "unknown":
            found.append((f"{system}/{machine}", str(entry.get("digest"))))
    return found


def _refused(reference: Reference, url: str, error: StatusError) -> BringupError:
    if error.status == 404:
        return CheckFailed(
            f"the registry has no {reference}",
            id="image-unknown",
            observed=f"HTTP 404 from {urlsplit(url).netloc}",
            required="an image that is there",
            next_command="look at the tags of the repository; registries remove nightlies: a kept copy goes by "
            "--image-archive FILE",
        )
    if error.status in {401, 403}:
        return CheckFailed(
            f"the registry tells nothing of {reference} to strangers",
            id="image-login",
            observed=f"HTTP {error.status} from {urlsplit(url).netloc}",
            required="an image that may be read without a login, or its digest given",
            next_command="the same command with --image-digest sha256:... (the hosts' docker pulls with its own login)",
        )
    return unanswered(url, error)
