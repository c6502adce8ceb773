"""Archives of images, made on the spot in the two layouts that tools write."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

LAYERS = ("sha256:" + "a" * 64, "sha256:" + "b" * 64)


def config(machine: str = "amd64", layers: tuple[str, ...] = LAYERS) -> dict[str, Any]:
    return {"os": "linux", "architecture": machine, "rootfs": {"type": "layers", "diff_ids": list(layers)}}


def write_tar(path: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def docker_save(path: Path, tags: tuple[str, ...] = ("x:y",), mode: str = "w", **told: Any) -> Path:  # noqa: ANN401
    body = json.dumps(config(**told)).encode()
    name = f"{hashlib.sha256(body).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": list(tags), "Layers": ["l/layer.tar"]}]).encode()
    return write_tar(path, {name: body, "manifest.json": manifest, "l/layer.tar": b"layer"}, mode)


def oci(path: Path, machines: tuple[str, ...] = ("amd64",), *, nested: bool = False, spoilt: bool = False) -> Path:
    files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def blob(value: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(value).encode()
        sum_ = hashlib.sha256(data).hexdigest()
        files[f"blobs/sha256/{sum_}"] = data + (b" " if spoilt and "rootfs" in value else b"")
        return {"digest": f"sha256:{sum_}", "size": len(data)}

    entries = [
        blob({"config": blob(config(machine)), "layers": []}) | {"platform": {"os": "linux", "architecture": machine}}
        for machine in machines
    ]
    entries.append({"digest": "sha256:" + "0" * 64, "platform": {"os": "unknown", "architecture": "unknown"}})
    index: dict[str, Any] = {"manifests": entries}
    files["index.json"] = json.dumps({"manifests": [blob(index)]} if nested else index).encode()
    return write_tar(path, files)
