"""How a choice is installed: by wheel or image, with which further packages.

For people and for planning; what bringup itself installs is in its playbooks. Addresses of package indexes are the
operator's to set, so they stand here as `$INDEX`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.catalogue.recipe import Tab
from launch.resolve import docker

if TYPE_CHECKING:
    from launch.catalogue.recipe import Dependency, Images
    from launch.resolve.case import Case

PLAIN = "uv venv\nsource .venv/bin/activate\nuv pip install -U vllm --torch-backend auto"
ROCM = "uv venv --python 3.12\nsource .venv/bin/activate\nuv pip install vllm --extra-index-url $INDEX/rocm"
NIGHTLY = (
    "uv venv\nsource .venv/bin/activate\nuv pip install -U vllm --pre \\\n"
    "  --extra-index-url $INDEX/nightly/{cuda} \\\n  --extra-index-url $INDEX/whl/{cuda} \\\n"
    "  --index-strategy unsafe-best-match"
)
CPU_VENV = "uv venv --python 3.12 --seed --managed-python\nsource .venv/bin/activate\n"
CPU = CPU_VENV + (
    "export VLLM_VERSION=$(curl -s $INDEX/repos/vllm-project/vllm/releases/latest | jq -r .tag_name | sed 's/^v//')\n"
    "uv pip install $INDEX/vllm-project/vllm/releases/download/v$VLLM_VERSION/"
    "vllm-$VLLM_VERSION+cpu-cp38-abi3-manylinux_2_34_x86_64.whl \\\n  --torch-backend cpu"
)
CPU_NIGHTLY = CPU_VENV + (
    "uv pip install vllm --pre \\\n  --extra-index-url $INDEX/nightly/cpu \\\n"
    "  --index-strategy first-index --torch-backend cpu"
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to install, `pip` or `docker`. `note` is the recipe's own."""

    id: str
    command: str
    note: str | None


@dataclass(frozen=True, slots=True)
class Package:
    command: str
    optional: bool


@dataclass(frozen=True, slots=True)
class Install:
    """`declared`: the way that the recipe puts first; `ways`: those that this hardware has, maybe without it."""

    image: str | None
    brand: str
    declared: str
    used: str
    min_version: str
    nightly: bool
    ways: tuple[Way, ...]
    choose_cuda: bool
    only_cuda: str | None


def install_of(case: Case, cuda: str | None = None, store_version: str | None = None) -> Install:
    """`cuda`: the wanted CUDA build. `store_version`: what an active KV store needs at least."""
    shown = ways(case, cuda)
    declared = declared_way(case)
    used = declared if any(one.id == declared for one in shown) or not shown else shown[0].id
    return Install(
        image=docker.image_of(case, cuda),
        brand=docker.brand_of(case.profile),
        declared=declared,
        used=used,
        min_version=min_version(case, store_version),
        nightly=nightly(case),
        ways=shown,
        choose_cuda=choose_cuda(case, used),
        only_cuda=only_cuda(case),
    )


def nightly(case: Case) -> bool:
    return case.recipe.model.nightly_required or case.variant.nightly_required


def min_version(case: Case, store_version: str | None = None) -> str:
    """The highest of the recipe's, the variant's and the store's; a part that is no number counts as 0."""
    versions = [case.recipe.model.min_vllm_version, case.variant.min_vllm_version, store_version or ""]
    found = [one for one in versions if one]
    return max(found, key=_parts, default="")


def _parts(version: str) -> tuple[int, ...]:
    parts = [int(part) if part.isdigit() else 0 for part in version.split(".")]
    return tuple(parts + [0] * (4 - len(parts)))


def override(case: Case, way: str) -> Tab | None:
    found = case.recipe.model.install.get(way)
    return found if isinstance(found, Tab) else None


def ruled_out(case: Case, way: str) -> bool:
    return case.recipe.model.install.get(way) is False


def declared_way(case: Case) -> str:
    if ruled_out(case, "docker"):
        return "pip"
    if ruled_out(case, "pip"):
        return "docker"
    return next((key for key in case.recipe.model.install if key in {"pip", "docker"}), "pip")


def ways(case: Case, cuda: str | None) -> tuple[Way, ...]:
    hidden = case.profile.kind in {"tpu", "xpu"}
    found = []
    if not ruled_out(case, "pip") and not hidden:
        found.append(_way(case, "pip", pip_command(case, cuda)))
    if not ruled_out(case, "docker"):
        found.append(_way(case, "docker", f"docker pull {docker.image_of(case, cuda) or ''}".rstrip()))
    return tuple(found)


def model_ways(case: Case) -> tuple[Way, ...]:
    """As the public catalogue's JSON gives them: of the model alone, on NVIDIA with CUDA 13."""
    model = case.recipe.model
    image = docker.of_brand(model.docker_image, "nvidia", "cu130") or f"{docker.STOCK['nvidia']}:latest"
    usual = {"pip": NIGHTLY.format(cuda="cu130") if model.nightly_required else PLAIN, "docker": f"docker pull {image}"}
    return tuple(_way(case, id_, command) for id_, command in usual.items() if not ruled_out(case, id_))


def _way(case: Case, id_: str, usual: str) -> Way:
    own = override(case, id_)
    return Way(id_, (own.command if own else None) or usual, own.note if own else None)


def pip_command(case: Case, cuda: str | None) -> str:
    if case.profile.brand == "AMD":
        return ROCM
    if case.profile.kind == "cpu":
        return CPU_NIGHTLY if nightly(case) else CPU
    return NIGHTLY.format(cuda=only_cuda(case) or cuda or "cu130") if nightly(case) else PLAIN


def only_cuda(case: Case) -> str | None:
    """The CUDA build, where the pinned image exists in one build only."""
    if docker.brand_of(case.profile) != "nvidia":
        return None
    exact = case.variant.hardware_overrides.get(case.hardware)
    if exact and isinstance(exact.docker_image, str):
        return None
    for images in (case.variant.docker_image, case.recipe.model.docker_image):
        builds = _builds(images)
        if builds is not None:
            return builds[0] if len(builds) == 1 else None
    return None


def _builds(images: Images | None) -> list[str] | None:
    """The CUDA builds that a pin lists for NVIDIA; [] when it pins without a list, None when it says nothing."""
    if images is None:
        return None
    if isinstance(images, str):
        return []
    own = images if any(build in images for build in docker.BUILDS) else images.get("nvidia")
    if isinstance(own, dict):
        return [build for build in docker.BUILDS if build in own]
    return [] if own is not None else None


def choose_cuda(case: Case, used: str) -> bool:
    """Whether there is a choice of CUDA builds."""
    docker_own, pip_own = override(case, "docker"), override(case, "pip")
    if docker.brand_of(case.profile) != "nvidia" or only_cuda(case) is not None:
        return False
    if docker_own is not None and docker_own.command:
        return False
    return used == "docker" or (nightly(case) and not (pip_own and pip_own.command))


def packages(case: Case, way: str, further: str | None = None) -> list[Package]:
    """What is installed beside vLLM; `further` is the command of an active KV option or store."""
    found = [
        Package(one.command, one.optional)
        for one in case.recipe.dependencies
        if _for_brand(one, case.profile.brand) and way in (one.install_modes or ("pip",))
    ]
    return [*found, Package(further, optional=False)] if further else found


def _for_brand(dependency: Dependency, brand: str) -> bool:
    wanted = (dependency.brand,) if isinstance(dependency.brand, str) else dependency.brand
    return not wanted or brand.lower() in {one.lower() for one in wanted}
