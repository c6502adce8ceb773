"""SIMULATED docker: the few commands that bringup types, with docker's words and formats, and no containers.

State lies in $SIMULATED_DOCKER, default /var/lib/simulated-docker: `images.json` (what is here), `remote.json`
(what a registry would give), `programs/` (what images have inside), `log` (every command). `run` becomes the program
itself, on the host, with only the environment that was given. Everything that shows says that it is simulated.
"""
# ruff: noqa: T201, S606, C901  (a program of its own)

from __future__ import annotations

import json
import os
import pathlib
import sys
import tarfile

STATE = pathlib.Path(os.environ.get("SIMULATED_DOCKER", "/var/lib/simulated-docker"))
FLAGS = {"--rm", "-i", "--force", "-f", "--quiet", "--no-trunc"}


def load(name: str) -> dict[str, dict[str, object]]:
    path = STATE / name
    return json.loads(path.read_text()) if path.exists() else {}


def save(images: dict[str, dict[str, object]]) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    new = STATE / f"images.{os.getpid()}"
    new.write_text(json.dumps(images))
    new.replace(STATE / "images.json")


def fail(words: str) -> None:
    sys.exit(f"{words} (simulated)")


def found(name: str) -> dict[str, object]:
    images = load("images.json")
    for image in images.values():
        if name == image["Id"] or name in (*image["RepoTags"], *image["RepoDigests"]):  # type: ignore[misc]
            return image
    fail(f"Error response from daemon: No such image: {name}")
    raise AssertionError


def formatted(image: dict[str, object], template: str) -> str:
    text = template
    for key in ("Id", "RepoTags", "RepoDigests", "RootFS", "Os", "Architecture", "Size"):
        text = text.replace(f"{{{{json .{key}}}}}", json.dumps(image[key], separators=(",", ":")))
    layers = image["RootFS"]["Layers"]  # type: ignore[index]
    return text.replace("{{json .RootFS.Layers}}", json.dumps(layers, separators=(",", ":")))


def pull(name: str) -> None:
    remote = load("remote.json")
    if name not in remote:
        fail(f"Error response from daemon: manifest for {name} not found")
    image = remote[name]
    print(f"simulated: pulled {name}")
    keep({**image, "RepoDigests": [name], "RepoTags": []})


def keep(image: dict[str, object]) -> None:
    images = load("images.json")
    old = images.get(str(image["Id"]), {"RepoTags": [], "RepoDigests": []})
    merged = {key: sorted({*old[key], *image[key]}) for key in ("RepoTags", "RepoDigests")}  # type: ignore[misc]
    images[str(image["Id"])] = {**image, **merged}
    save(images)


def load_archive(path: str) -> None:
    with tarfile.open(path) as tar:
        manifest = json.load(tar.extractfile("manifest.json"))[0]  # type: ignore[arg-type]
        config = json.load(tar.extractfile(manifest["Config"]))  # type: ignore[arg-type]
    image = {
        "Id": "sha256:" + manifest["Config"].removesuffix(".json").rpartition("/")[2],
        "RepoTags": manifest["RepoTags"],
        "RepoDigests": [],
        "RootFS": {"Type": "layers", "Layers": config["rootfs"]["diff_ids"]},
        "Os": config["os"],
        "Architecture": config["architecture"],
        "Size": 1,
    }
    keep(image)
    print(f"Loaded image: {manifest['RepoTags'][0]}" if manifest["RepoTags"] else f"Loaded image ID: {image['Id']}")


def tag(source: str, name: str) -> None:
    images = load("images.json")
    wanted = found(source)["Id"]
    for image in images.values():
        tags = [one for one in image["RepoTags"] if one != name]  # type: ignore[attr-defined]
        image["RepoTags"] = [*tags, *([name] if image["Id"] == wanted else [])]
    save(images)


def run(words: list[str]) -> None:
    env, entrypoint = {"PATH": "/usr/bin:/bin", "SIMULATED_CONTAINER": "1"}, ""
    while words[0].startswith("-"):
        option = words.pop(0)
        if option in FLAGS:
            continue
        value = words.pop(0)
        if option in {"--env", "-e"}:
            key, equals, text = value.partition("=")
            env[key] = text if equals else os.environ.get(key, "")
        elif option == "--entrypoint":
            entrypoint = value
    found(words[0])
    programs = STATE / "programs"
    program = str(programs / entrypoint) if (programs / entrypoint).exists() else entrypoint
    os.execve(program, [program, *words[1:]], {**env, "PATH": f"{programs}:{env['PATH']}"})


def inspect(words: list[str]) -> None:
    template = words[words.index("--format") + 1]
    names = [one for one in words if one not in {"--format", template}]
    for name in names:
        print(formatted(found(name), template))


def main(words: list[str]) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "log").open("a") as log:
        log.write(json.dumps(words) + "\n")
    if (STATE / "broken").exists():
        fail("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
    match words:
        case ["version", *_]:
            print("99.0-simulated")
        case ["info", *_]:
            print(json.dumps({"DockerRootDir": str(STATE), "Driver": "simulated", "ServerVersion": "99.0-simulated"}))
        case ["image", "ls", *_]:
            print("\n".join(str(one["Id"]) for one in load("images.json").values()))
        case ["image", "inspect", *rest]:
            inspect(rest)
        case ["pull", name]:
            pull(name)
        case ["load", "-i", path]:
            load_archive(path)
        case ["tag", source, name]:
            tag(source, name)
        case ["run", *rest]:
            run(rest)
        case ["rm" | "ps" | "container", *_]:
            pass
        case _:
            fail(f"unknown command: {words}")


if __name__ == "__main__":
    main(sys.argv[1:])
