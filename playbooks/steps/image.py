"""An image on a host, known by its digest or its layers, under a name of ours that no later pull moves.

Earlier images stay: a rollback starts them without a registry.
"""

from __future__ import annotations

from dataclasses import replace

from inventory.quoting import quote
from playbooks.cargo import Cargo
from playbooks.images.image import Image
from playbooks.images.reference import Reference
from playbooks.plan import ABSENT, Phase, Refusal, Step
from playbooks.steps.shipped import shipped

PULL_S = 4 * 3600.0
LAYERS = "{{json .RootFS.Layers}}"
DIGESTS = "{{json .RepoDigests}}"

WRONG_IMAGE = Refusal(
    id="image-mismatch",
    message="what came is another image than the plan's",
    required="the digest or the layers of the plan",
    next_command="type the same command again with the digest that is wanted: --image-digest sha256:...",
)
NO_PULL = Refusal(
    id="image-pull",
    message="the image could not be pulled",
    required="a registry or mirror that this host's container engine reaches and may read",
    next_command="on HOST: the pull by hand shows why; without a way out give the image: --image-archive FILE",
)


def local_name(reference: Reference, image: Image) -> str:
    """The name under which hosts keep it: `bringup/vllm-openai:<12 digits>`."""
    return f"bringup/{reference.repository.rpartition('/')[2]}:{image.identity}"


def pulled_image(reference: Reference, image: Image, *, engine: str, mirror: str | None = None) -> Step:
    """Pull `reference` by its digest, from the mirror if there is one. `engine`: docker or podman."""
    assert image.digest is not None  # noqa: S101  (an image without one comes from an archive)
    source = quote(f"{reference.mirrored(mirror).name}@{image.digest}")
    name, digest = quote(local_name(reference, image)), quote(image.digest)
    shown = quote(str(reference.pinned(image.digest)))
    return Step(
        id=f"image {reference}",
        phase=Phase.PROVISION,
        why="every rank runs the very same build, whatever a tag names tomorrow",
        probe=_probe(engine, name, DIGESTS, f"*@{image.digest}*", f"digest {image.digest}"),
        wanted=f"digest {image.digest}",
        script=f"""{engine} pull {source} || {{
  # Docker's own last word, from the output of this job.
  why=$(tail -n 1 "${{JOB:-/dev/null}}/output" 2>/dev/null | tr '\\t' ' ' | cut -c 1-200) || why=
  printf 'outcome\\timage-pull %s: %s\\n' {shown} "$why"
  exit 1
}}
case $({engine} image inspect --format '{DIGESTS}' {source}) in
*@{digest}*) ;;
*) printf 'outcome\\timage-mismatch %s\\n' {shown}; exit 1 ;;
esac
{engine} tag {source} {name}
""",
        summary=f"pull {reference} at {image.digest[:19]}{_size(image)}",
        deadline_s=PULL_S,
        refusals=(NO_PULL, WRONG_IMAGE),
        satisfies=("rt.image_digest",),
    )


def loaded_image(reference: Reference, image: Image, *, engine: str, cargo: Cargo) -> Step:
    """Load the archive that the control machine gives; the file itself is removed then."""
    given = shipped(cargo, what=f"the archive of {reference}", why="the image comes from a file on the control machine")
    name, folder = quote(local_name(reference, image)), quote(cargo.folder)
    layers = _layers(image)
    return replace(
        given,
        id=f"image {reference}",
        probe=_probe(engine, name, LAYERS, layers, f"layers {image.identity}"),
        wanted=f"layers {image.identity}",
        script=f"""{given.script}
said=$({engine} load -i {folder}/{quote(cargo.files[0].name)})
printf '%s\\n' "$said"
loaded=$(printf '%s\\n' "$said" | sed -n 's/^Loaded image\\(s\\)\\{{0,1\\}}\\( ID\\)\\{{0,1\\}}: *//p' | tail -n 1)
if [ "$({engine} image inspect --format '{LAYERS}' "$loaded")" != {quote(layers)} ]; then
  printf 'outcome\\timage-mismatch %s\\n' "$loaded"
  exit 1
fi
{engine} tag "$loaded" {name}
rm -rf -- {folder}
""",
        summary=f"load {reference} from an archive, {cargo.size / 1e9:.2f} GB",
        deadline_s=given.deadline_s + PULL_S,
        refusals=(*given.refusals, WRONG_IMAGE),
        satisfies=("rt.image_digest",),
    )


def _probe(engine: str, name: str, asked: str, wanted: str, state: str) -> str:
    """A daemon that does not answer is unreadable, never absent."""
    pattern = wanted if wanted.startswith("*@") else quote(wanted)
    return (
        f"{engine} version >/dev/null || exit 1\n"
        f"found=$({engine} image inspect --format '{asked}' {name} 2>/dev/null) || found=\n"
        f"case $found in\n{pattern}) printf %s {quote(state)} ;;\n'') printf {ABSENT} ;;\n*) printf other ;;\nesac"
    )


def _layers(image: Image) -> str:
    return "[" + ",".join(f'"{one}"' for one in image.layers) + "]"


def _size(image: Image) -> str:
    return f", {image.compressed_bytes / 1e9:.2f} GB" if image.compressed_bytes else ""
