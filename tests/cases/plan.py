"""What a case's plan asks of its hosts. A part that the case does not tell stays untold."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from inventory.errors import BringupError
from inventory.facts.containers import parse_platforms
from inventory.facts.names import parse_proxies
from inventory.facts.network_text import parse_ip
from inventory.yamlfile import parse
from launch.building.plan_parts import support_of
from launch.catalogue.find import Catalogue
from launch.catalogue.recipe import Recipe
from playbooks.requirements import (
    Build,
    Container,
    Demands,
    ExpectedWeights,
    HostRequirements,
    Layout,
    Model,
    Processes,
    Requirements,
    Space,
    WeightFile,
)
from tests.cases.keys import all_words, canonical, of_host, split

FILES = (
    "plan*.yaml",
    "plan_env.txt",
    "manifest.tsv",
    "manifest.json",
    "control_env.txt",
    "inventory.yaml",
    "*.sh",
    "rendered*",
    "*.env",
    "inputs.txt",
    "marker.txt",
    "ssh_config",
)
"""Files of a case that are the plan's or the control machine's; patterns."""

KNOWN = frozenset(
    {
        *("nnodes", "hosts", "env", "runtime", "fabric", "docker_args", "vllm_version", "lb_mode", "moe", "tp", "dp"),
        *("commands", "model", "variant", "pp", "ep", "quant_block", "moe_intermediate_size", "platform", "head"),
        *("vram_minimum_gb", "gpu_memory_utilization", "iface", "numa_bind", "image_compressed_bytes", "extra_args"),
        *("shutdown_timeout", "new_stop_timeout", "image", "root_fs", "ports", "weights", "cuda", "revision"),
        *("start_offsets", "requirements", "restart", "min_vllm_version", "hardware_support", "head_address"),
        *("weights_path", "weights_bytes", "weights_gb", "unit", "unit_stop_timeout", "architectures", "python"),
        *("wheel", "needs_root", "name", "lock", "platforms", "tokenizer_mode", "address", "downloads", "gated"),
        *("log_dir", "state_dir", "numa_bind_required", "id", "title", "notes", "gpus_per_host", "gpus", "glibc"),
    }
)
Plan = Mapping[str, Any]
NOTHING = Processes(0, 0, 0, 0, 0)
PYTHON_OF = {"0.33": ">=3.11,<3.15"}
"""What the wheel of a release says of itself (Requires-Python)."""

RDMA = {"rdma", "ib", "infiniband", "roce", "rail"}
MNNVL = {"mnnvl", "nvlink", "imex", "nvl72"}


def unknown_keys(plan: Plan) -> tuple[str, ...]:
    """Keys of a plan that say nothing to anybody here."""
    return tuple(sorted(set(canonical(plan)) - KNOWN))


def requirements(told: Plan, files: Mapping[str, str], names: Sequence[str]) -> Requirements:
    """The requirements of a plan; `names`: its hosts in the order of the node ranks."""
    plan = canonical(told)
    each = {one["name"]: one for one in plan.get("hosts", ())}
    recipe = recipe_of(plan)
    variant = recipe.variant(str(plan.get("variant") or "default")) if recipe else None
    tensor, data_parallel = plan.get("tp"), plan.get("dp")
    if data_parallel is None and (tensor or plan.get("pp")) and "hosts" in plan:
        data_parallel = 1
    hosts = tuple(_of_host(host, each.get(host, {}), plan, files, names) for host in names)
    return Requirements(
        hosts=hosts,
        head=plan.get("head", names[0]),
        head_address=plan.get("head_address") and str(plan["head_address"]),
        vllm_version=str(plan.get("vllm_version") or ""),
        data_parallel_size=plan.get("dp") or 0,
        ranks=(),
        argv_errors=_refusals(hosts, files),
        name=str(plan.get("name") or ""),
        hardware=plan.get("platform"),
        model=Model(
            id=str(plan.get("model") or ""),
            variant=str(plan.get("variant") or ""),
            vram_minimum_gb=plan.get("vram_minimum_gb") or (variant.vram_minimum_gb if variant else None),
            moe_intermediate_size=plan.get("moe_intermediate_size"),
            quantization_block=_block(plan.get("quant_block")),
            tokenizer_mode=plan.get("tokenizer_mode"),
            revision=None if isinstance(plan.get("revision"), Mapping) else plan.get("revision"),
            minimum_vllm=plan.get("min_vllm_version") or _minimum(recipe, variant),
            hardware_support=_support(plan, recipe),
        ),
        layout=Layout(
            tensor_parallel=tensor,
            pipeline_parallel=plan.get("pp"),
            data_parallel=data_parallel,
            expert_parallel=bool(plan["ep"]) if "ep" in plan else None,
            moe=plan.get("moe"),
            load_balancing=plan.get("lb_mode"),
            nodes=plan.get("nnodes") or (len(names) if "hosts" in plan or "commands" in plan else None),
        ),
        build=Build(
            python=plan.get("python") or PYTHON_OF.get(".".join(str(plan.get("vllm_version")).split(".")[:2])),
            platforms=_platforms(plan),
            architectures=_architectures(plan),
            packages=_lock(plan),
            glibc=plan.get("glibc") and str(plan["glibc"]),
        ),
        container=_container(plan, files),
        demands=_demands(plan),
        control_env=parse_proxies(files.get("control_env.txt", "")),
        rdma=str(plan["fabric"]).lower() in RDMA if "fabric" in plan else None,
        rail=plan["fabric"] == "rail" if "fabric" in plan else None,
        mnnvl=str(plan["fabric"]).lower() in MNNVL if "fabric" in plan else None,
        shutdown_timeout_s=plan.get("shutdown_timeout"),
        stop_timeout_s=_unit_timeout(plan, files),
    )


def recipe_of(plan: Plan) -> Recipe | None:
    """The product's own recipe of the model that the plan names, if it has one."""
    if not plan.get("model"):
        return None
    try:
        return Catalogue.of().find(str(plan["model"])).recipe
    except BringupError:
        return None


def _minimum(recipe: Recipe | None, variant: Any) -> str | None:  # noqa: ANN401
    if recipe is None:
        return None
    return (variant.min_vllm_version if variant else None) or recipe.model.min_vllm_version or None


def _support(plan: Plan, recipe: Recipe | None) -> Any:  # noqa: ANN401
    told = plan.get("hardware_support")
    if isinstance(told, Mapping):
        return support_of({str(k).lower(): str(v) for k, v in told.items()}, plan.get("platform") or "")
    if told is None and recipe is not None and plan.get("platform"):
        return support_of(recipe.meta.hardware, plan["platform"])
    return told


def _block(told: Any) -> int | None:  # noqa: ANN401
    return int(told[-1]) if isinstance(told, list) and told else told


def _platforms(plan: Plan) -> tuple[str, ...] | None:
    """Of the wheel's own name, or told."""
    found = tuple(re.findall(r"x86_64|aarch64", str(plan.get("wheel", "")))) or tuple(plan.get("platforms") or ())
    return found or None


def _architectures(plan: Plan) -> tuple[str, ...] | None:
    told = plan.get("architectures")
    if told is None:
        return None
    return tuple(re.split(r"[\s,;]+", told.strip())) if isinstance(told, str) else tuple(map(str, told))


def _lock(plan: Plan) -> tuple[tuple[str, str], ...]:
    told = plan.get("lock") or ()
    if isinstance(told, Mapping):
        return tuple((str(name), str(version)) for name, version in told.items())
    words = told.split() if isinstance(told, str) else told
    return tuple((name, version) for name, _, version in (str(word).partition("==") for word in words) if version)


def _demands(plan: Plan) -> Demands | None:
    told = plan.get("requirements")
    if not isinstance(told, Mapping):
        return None
    known = {name: told[name] for name in Demands.__dataclass_fields__ if name in told}
    for name, key in (("driver", "driver_range"), ("vllm", "min_vllm_version"), ("nic", "nic_kind")):
        if key in told:
            known.setdefault(name, f">={told[key]}" if key == "min_vllm_version" else told[key])
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
    return Demands(**plain)


def _refusals(hosts: Sequence[HostRequirements], files: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What the pinned vLLM's own parser said of the command on a host."""
    found = []
    for one in hosts:
        text = next((t for name, t in files.items() if name.startswith(f"{one.host}/") and "parse" in name), "")
        said = re.findall(r"(?m)error: (.+)$", text)
        found += [(one.host, words) for words in said]
    return tuple(found)


def _of_host(host: str, told: Plan, plan: Plan, files: Mapping[str, str], names: Sequence[str]) -> HostRequirements:
    ranks = told.get("dp_local") or 0
    gpus = told.get("gpus") or plan.get("gpus_per_host") or len(told.get("gpu_uuids") or ())
    workers = ranks * (told.get("tp") or 1) * (told.get("pp") or 1)
    interface = told.get("iface") or of_host(plan.get("iface"), host, names)
    words = all_words({key: of_host(value, host, names) for key, value in plan.items() if key != "commands"})
    return HostRequirements(
        host=host,
        gpus=tuple(range(gpus)),
        gpu_profile=plan.get("platform"),
        memory_per_gpu_bytes=None,
        host_memory_bytes=None,
        processes=_processes(told, ranks, workers, plan) if ranks else NOTHING,
        address=told.get("address") or addresses(files).get(host) or _address_on(interface, host, files),
        interface=interface,
        ports=tuple(plan.get("ports", ())),
        space=(Space(str(plan["log_dir"]), 0, "state"),) if "log_dir" in plan else (),
        own_pids=(),
        needs_root=("what the plan says",) if plan.get("needs_root") else (),
        gpu_runtime=_runtime(plan),
        argv=_argv(host, told, plan, files, names),
        env=_env(host, told, plan, files, names),
        weights=_weights(plan, files, of_host(plan.get("revision"), host, names)),
        numa_bind=bool(plan.get("numa_bind")) or "--numa-bind" in words,
        numa_bind_required=plan.get("numa_bind") == "required" or bool(plan.get("numa_bind_required")),
        gpu_memory_utilization=plan.get("gpu_memory_utilization"),
        restart=_restart(host, plan, files, names),
        starts_after_s=_start(host, told, plan, names),
        fetches_from=("https://huggingface.co",) if host in (plan.get("downloads") or ()) else (),
    )


def _address_on(interface: str | None, host: str, files: Mapping[str, str]) -> str | None:
    """Derived from the interface, as the product does it, where the plan names that alone."""
    found = (one for one in parse_ip(files.get(f"{host}/ip_addr.txt", "")) if one.name == interface)
    return next((address for one in found for address in one.addresses if ":" not in address), None)


def _start(host: str, told: Plan, plan: Plan, names: Sequence[str]) -> float | None:
    own = told.get("starts_after_s", told.get("start_offsets", told.get("start_s")))
    when = of_host(plan.get("start_offsets"), host, names) if own is None else own
    return None if when is None else float(when)


def _restart(host: str, plan: Plan, files: Mapping[str, str], names: Sequence[str]) -> str | None:
    """Of the plan, of a unit in it, or of the unit's own file."""
    unit = plan.get("unit")
    if isinstance(unit, Mapping) and "Restart" in unit:
        return _word(unit["Restart"])
    text = unit if isinstance(unit, str) else ""
    text += "".join(own for name, own in files.items() if name.startswith(f"{host}/") and "Restart=" in own)
    found = re.search(r"(?m)^Restart=(\S+)", text)
    told = of_host(plan.get("restart"), host, names)
    return found[1] if found else None if told is None else _word(told)


def _unit_timeout(plan: Plan, files: Mapping[str, str]) -> int | None:
    """Seconds of TimeoutStopSec, of the plan or of what systemctl shows: `1min 30s`."""
    told = plan.get("unit_stop_timeout")
    if isinstance(told, int):
        return told
    said = re.search(r"TimeoutStopU?Sec=(.+)", f"TimeoutStopSec={told}" if told else "\n".join(files.values()))
    scale = {"h": 3600, "min": 60, "m": 60, "s": 1, "": 1}
    parts = re.findall(r"(\d+)\s*(h|min|m|s|)(?![a-z])", said[1]) if said else []
    return sum(int(number) * scale[unit] for number, unit in parts) or None


def _exec(host: str, files: Mapping[str, str]) -> str:
    """The command of a unit in the host's own files."""
    units = "\n".join(text for name, text in files.items() if name.startswith(f"{host}/"))
    found = re.search(r"(?m)^ExecStart=[-@!+:]*(.+)$", units)
    return found[1] if found else ""


def _word(value: object) -> str:
    """YAML reads a bare `no` as false."""
    return {False: "no", True: "yes"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _runtime(plan: Plan) -> str | None:
    """`13.0` of `cu130`, 13.0 or a wheel that is named after it."""
    found = re.search(r"cu(\d{2})(\d)", str(plan.get("wheel", "")))
    digits = "".join(found.groups()) if found else "".join(c for c in str(plan.get("cuda", "")) if c.isdigit())
    return f"{digits[:2]}.{digits[2:] or 0}" if len(digits) >= 2 else None


def _processes(told: Plan, ranks: int, workers: int, plan: Plan) -> Processes:
    """As vLLM starts them: a launcher for several API servers or none, a coordinator where the ranks are several."""
    api_servers = told.get("api_servers") or 0
    first = told is next(iter(plan.get("hosts", ())), told)
    several = max(plan.get("dp") or 1, sum(one.get("dp_local") or 0 for one in plan.get("hosts", ()))) > 1
    return Processes(api_servers, int(api_servers != 1), ranks, workers, int(several and first))


def _argv(host: str, told: Plan, plan: Plan, files: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """The engine's own words of a rendered command: what stands before them in a container's is left out."""
    rendered = files.get(f"rendered/{host}.sh", "").removeprefix("exec ")
    text = told.get("commands") or of_host(plan.get("commands"), host, names) or rendered or _exec(host, files)
    if text:
        return tuple(text) if isinstance(text, list) else tuple(shlex.split(text))
    words = split(told.get("extra_args") or of_host(plan.get("extra_args"), host, names) or ())
    if "start_rank" in told:
        words += ["--data-parallel-size", str(plan.get("dp")), "--data-parallel-start-rank", str(told["start_rank"])]
        words += ["--data-parallel-size-local", str(told.get("dp_local", 1))]
    if words or "extra_args" in plan:
        return ("vllm", "serve", str(plan.get("model") or "MODEL"), *words)
    return ()


def _env(
    host: str, told: Plan, plan: Plan, files: Mapping[str, str], names: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    text = files.get("plan_env.txt", "") + "\n" + files.get(f"rendered/{host}.env", "")
    lines = (line.removeprefix("export ").partition("=") for line in text.splitlines() if "=" in line)
    found = {name.strip(): value.strip("'\"") for name, _, value in lines}
    shared = of_host(plan.get("env"), host, names) or {}
    for one in (shared, told.get("env") or {}):
        found |= {str(k): "" if v is None else str(v) for k, v in one.items() if not isinstance(v, Mapping)}
    return tuple(sorted(found.items()))


def _weights(plan: Plan, files: Mapping[str, str], revision: object) -> ExpectedWeights | None:
    told = plan.get("weights")
    block = told if isinstance(told, Mapping) else {}
    path = plan.get("weights_path") or block.get("path") or (told if isinstance(told, str) else None)
    commit = revision if isinstance(revision, str) else None
    if text := files.get("manifest.tsv"):
        rows = (line.split() for line in text.splitlines() if line.strip())
        listed = (row for row in rows if len(row) > 1 and row[1].isdigit())
        parts = tuple(WeightFile(row[0], int(row[1]), row[2] if len(row) > 2 else None) for row in listed)
        return ExpectedWeights("", commit, path, parts)
    size = plan.get("weights_bytes") or block.get("bytes") or int((plan.get("weights_gb") or 0) * 10**9)
    if size:
        return ExpectedWeights("", commit, path, (WeightFile("model.safetensors", int(size)),))
    marks = ("ls_-l.txt", "head_", "test_-r", "manifest_sha256")
    is_listed = any(mark in name for name in files for mark in marks)
    return ExpectedWeights("", commit, path) if path or is_listed or "revision" in plan else None


def _container(plan: Plan, files: Mapping[str, str]) -> Container | None:
    told = ("image", "docker_args", "image_compressed_bytes", "root_fs", "new_stop_timeout")
    rendered = next((t for name, t in files.items() if name.startswith("rendered/") and "docker run" in t), "")
    if (
        plan.get("runtime") not in {"docker", "podman", "container"}
        and not any(key in plan for key in told)
        and "manifest.json" not in files
        and not rendered
    ):
        return None
    image, _, digest = str(plan.get("image", "")).partition("@")
    arguments = tuple(split(plan["docker_args"])) if "docker_args" in plan else None
    if arguments is None and rendered:
        arguments = tuple(split(rendered.partition("docker run")[2].partition("vllm serve")[0]))
    stop = plan.get("new_stop_timeout")
    return Container(
        image=image or None,
        digest=digest or None,
        layers=tuple(plan.get("root_fs", ())),
        platforms=parse_platforms(files["manifest.json"]) if "manifest.json" in files else None,
        compressed_bytes=plan.get("image_compressed_bytes"),
        arguments=arguments,
        stop_timeout_s=stop,
    )


def addresses(files: Mapping[str, str]) -> Mapping[str, str]:
    """The case's own form of an inventory: a name and an address, or a block with one."""
    found = parse(files.get("inventory.yaml", "{}").encode(), "inventory.yaml").data
    assert isinstance(found, dict)
    inner = found.get("hosts", found)
    assert isinstance(inner, dict)
    keys = ("fabric_address", "address", "ip", "ansible_host", "ssh")
    return {
        str(name): str(next((told[key] for key in keys if key in told), "") if isinstance(told, dict) else told)
        for name, told in inner.items()
    }
