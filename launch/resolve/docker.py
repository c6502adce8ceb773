"""The image of a choice, and the `docker run` form of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.catalogue.recipe import Images
    from launch.catalogue.taxonomy import Profile
    from launch.resolve.case import Case
    from launch.resolve.result import NodeCommand

CACHE = "~/.cache/huggingface:/root/.cache/huggingface"
STOCK = {"nvidia": "vllm/vllm-openai", "amd": "vllm/vllm-openai-rocm", "tpu": "vllm/vllm-tpu"}
CPU_IMAGE, XPU_IMAGE = "vllm/vllm-openai-cpu:latest-x86_64", "vllm/vllm-openai-xpu:latest"
BUILDS = ("cu130", "cu129")
PORTS = {"prefill": 8001, "decode": 8002}
DEVICES = {
    "nvidia": ("--gpus", "all"),
    "amd": (
        *("--device=/dev/kfd", "--device=/dev/dri"),
        *("--security-opt", "seccomp=unconfined", "--group-add", "video"),
    ),
    "tpu": ("--privileged", "--network", "host", "-v", "/dev/shm:/dev/shm"),  # noqa: S108  (the host's own)
    "xpu": ("--device", "/dev/dri", "-v", "/dev/dri/by-path:/dev/dri/by-path", "--shm-size", "16g"),
    "cpu": ("--shm-size", "16g"),
}
NPU_MOUNTS = (
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/usr/local/Ascend/driver",
    "/etc/ascend_install.info",
)


def brand_of(profile: Profile) -> str:
    """Which family of images fits: nvidia, amd, tpu, intel or huawei."""
    if profile.kind == "tpu":
        return "tpu"
    if profile.brand.lower() in {"amd", "huawei"}:
        return profile.brand.lower()
    return "intel" if profile.kind in {"cpu", "xpu"} or profile.brand.lower() == "intel" else "nvidia"


def image_of(case: Case, cuda: str | None = None) -> str | None:
    """The image: the variant's for this hardware, the variant's, the model's, else the stock one.

    `cuda`: the wanted build, `cu129` or `cu130`. None where nothing is pinned and no stock image exists: nightly
    builds for Intel, and Huawei, whose devices an NVIDIA image cannot use.
    """
    brand, exact = brand_of(case.profile), exact_pin(case)
    if exact is not None:
        name = exact.split()[-1]  # a recipe has `docker pull IMAGE` here
        return with_build(name, cuda) if brand == "nvidia" else name
    for images in (case.variant.docker_image, case.recipe.model.docker_image):
        found = of_brand(images, brand, cuda)
        if found is not None:
            return found
    return _stock(case, brand, cuda)


def exact_pin(case: Case) -> str | None:
    """The pin of the variant for exactly this hardware."""
    exact = case.variant.hardware_overrides.get(case.hardware)
    return exact.docker_image if exact and isinstance(exact.docker_image, str) and exact.docker_image.strip() else None


def is_command(case: Case) -> bool:
    return len((exact_pin(case) or "").split()) > 1


def of_brand(images: Images | None, brand: str, cuda: str | None) -> str | None:
    """One pin: a text (NVIDIA's), a map of CUDA builds (NVIDIA's), or a map of brands. None: it says nothing here."""
    if not images:
        return None
    if isinstance(images, str):
        return with_build(images, cuda) if brand == "nvidia" else None
    if any(build in images for build in BUILDS):
        return _of_build(images, cuda) if brand == "nvidia" else None
    own = images.get(brand) or None
    if isinstance(own, dict):
        return _of_build(own, cuda) if brand == "nvidia" else None
    return with_build(own, cuda) if own is not None and brand == "nvidia" else own


def _of_build(images: dict[str, str] | dict[str, str | dict[str, str]], cuda: str | None) -> str | None:
    found = images.get(cuda or "") or images.get("cu130") or images.get("cu129")
    return found if isinstance(found, str) else None


def with_build(image: str, cuda: str | None) -> str:
    """The tag of another CUDA build, where the pin does not list its builds."""
    if cuda != "cu129":
        return image
    return image.removesuffix("nightly") + "cu129-nightly" if image in _nightlies() else f"{image}-cu129"


def _nightlies() -> set[str]:
    return {f"{image}:nightly" for image in STOCK.values()}


def _stock(case: Case, brand: str, cuda: str | None) -> str | None:
    if case.profile.kind == "xpu":
        return XPU_IMAGE
    if brand == "intel":
        return None if case.recipe.model.nightly_required else CPU_IMAGE
    if brand == "huawei":
        return None
    tag = "nightly" if case.recipe.model.nightly_required else "latest"
    image = f"{STOCK[brand]}:{tag}"
    return with_build(image, cuda) if brand == "nvidia" else image


def run(case: Case, command: NodeCommand, image: str, *, words: int = 2) -> list[str]:
    """`docker run` of one command; `words` of it are the image's own entry point.

    As the public catalogue prints it, to be read by a person: the cache path begins with `~`, and only one port is
    published, so that several nodes do not reach each other in it.
    """
    port = PORTS.get(command.role, 8000)
    argv = ["docker", "run", *_devices(case.profile)]
    npu = case.profile.kind == "npu"
    shared = ["--privileged", "--net=host", "--shm-size", "16g"] if npu else ["--privileged", "--ipc=host"]
    argv += shared + ([] if npu else ["-p", f"{port}:{port}"])
    argv += ["-v", CACHE]
    for path in _mounts(command, words):
        argv += ["-v", f"{path}:{path}:ro"]
    for key, value in command.env.items():
        argv += ["-e", f"{key}={value}"]
    return [*argv, image, *command.argv[words:]]


def _devices(profile: Profile) -> list[str]:
    if profile.kind == "npu":
        indices = [f"/dev/davinci{index}" for index in range(profile.gpus)]
        devices = [*indices, "/dev/davinci_manager", "/dev/hisi_hdc"]
        mounts = [word for path in NPU_MOUNTS for word in ("-v", f"{path}:{path}")]
        return [word for device in devices for word in ("--device", device)] + mounts
    kind = profile.kind if profile.kind in {"tpu", "xpu", "cpu"} else brand_of(profile)
    return list(DEVICES.get(kind, DEVICES["cpu"]))


def _mounts(command: NodeCommand, words: int) -> list[str]:
    """What the process must see of the node: a model that is a path, and configuration files."""
    model = command.argv[words]
    files = [value for key, value in command.env.items() if key.endswith("_CONFIG_PATH")]
    return [*([model] if model.startswith("/") else []), *files]
