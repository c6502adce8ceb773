from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.stored import planned_caches
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.cache_env"
PRIORITY = Priority.P1
WHY = "one variable more or less is another key of the compile cache: everything is compiled again"

# Read in vLLM 0.33.0 (envs.py, compile_factors): these are not part of the key.
IGNORED = frozenset(
    f"VLLM_{name}"
    for name in [
        "API_KEY",
        "ASSETS_CACHE",
        "ASSETS_CACHE_MODEL_CLEAN",
        "AUDIO_FETCH_TIMEOUT",
        "CACHE_ROOT",
        "CHAT_TEMPLATE_FUEL",
        "CONFIG_ROOT",
        "CPU_KVCACHE_SPACE",
        "CPU_MOE_PREPACK",
        "CUDA_COMPATIBILITY_PATH",
        "DEBUG_DUMP_PATH",
        "DEBUG_LOG_API_SERVER_RESPONSE",
        "DO_NOT_TRACK",
        "DP_MASTER_IP",
        "DP_MASTER_PORT",
        "ELASTIC_EP_SCALE_UP_LAUNCH",
        "ENABLE_CUDA_COMPATIBILITY",
        "ENABLE_STARTUP_PLAN",
        "ENABLE_V1_MULTIPROCESSING",
        "EXECUTE_MODEL_TIMEOUT_SECONDS",
        "FLASHINFER_AUTOTUNE_CACHE_DIR",
        "FLASHINFER_AUTOTUNE_SKIP_OPS",
        "FORCE_AOT_LOAD",
        "HOST_IP",
        "HTTP_MAX_REQUEST_BODY_SIZE",
        "HTTP_TIMEOUT_KEEP_ALIVE",
        "IMAGE_FETCH_TIMEOUT",
        "KEEP_ALIVE_ON_ENGINE_DEATH",
        "LOGGING_COLOR",
        "LOGGING_CONFIG_PATH",
        "LOGGING_LEVEL",
        "LOGGING_PREFIX",
        "LOGGING_STREAM",
        "LOG_STATS_INTERVAL",
        "MAX_AUDIO_CLIP_FILESIZE_MB",
        "MAX_AUDIO_DECODE_BYTES",
        "MAX_AUDIO_DECODE_DURATION_S",
        "MAX_AUDIO_PREPROCESS_WORKERS",
        "MAX_EMBED_DECODE_BYTES",
        "MAX_IMAGE_PIXELS",
        "MAX_MEDIA_REQUEST_DECODE_BYTES",
        "MAX_MEDIA_REQUEST_DOWNLOAD_SIZE_MB",
        "MEDIA_CACHE",
        "MEDIA_CACHE_MAX_SIZE_MB",
        "MEDIA_CACHE_TTL_HOURS",
        "MEDIA_CONNECTOR",
        "MEDIA_FETCH_MAX_RETRIES",
        "MEDIA_LOADING_THREAD_COUNT",
        "MEDIA_URL_ALLOW_REDIRECTS",
        "MODEL_REDIRECT_PATH",
        "NIXL_SIDE_CHANNEL_HOST",
        "NO_USAGE_STATS",
        "OBJECT_STORAGE_SHM_BUFFER_NAME",
        "PORT",
        "RANDOMIZE_DP_DUMMY_INPUTS",
        "RAY_BUNDLE_INDICES",
        "REQUEST_BODY_LOG_LEVEL",
        "RINGBUFFER_WARNING_INTERVAL",
        "RPC_BASE_PATH",
        "SERVER_DEV_MODE",
        "SKIP_MODEL_NAME_VALIDATION",
        "SKIP_VERSION_SUFFIX",
        "TEST_FORCE_LOAD_FORMAT",
        "TRITON_JIT_WARMUP_NUM_THREADS",
        "TUNED_CONFIG_FOLDER",
        "USAGE_STATS_SERVER",
        "USE_MODELSCOPE",
        "V1_OUTPUT_PROC_CHUNK_SIZE",
        "VIDEO_FETCH_TIMEOUT",
        "VIDEO_LOADER_BACKEND",
        "WORKER_MULTIPROC_METHOD",
        "WORKER_SHUTDOWN_TIMEOUT_SECONDS",
        "XLA_CACHE_PATH",
        "ZENTORCH_WEIGHT_PREPACK",
    ]
)
# Of the key, but by nature another one on each host of a gang: a stamp, which all hosts share, does not have them.
OF_ONE_HOST = frozenset({"VLLM_CPU_OMP_THREADS_BIND", "VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_DP_MASTER_IP"})


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    caches = planned_caches(facts.caches, needs) if is_known(facts.caches) else None
    if caches is None or caches.environment is None or not needs.env:
        return skip(ID, facts.host, "nobody wrote down with which environment the caches were made")
    made, planned = (_shared(keyed(env)) for env in (caches.environment, needs.env))
    differ = sorted(name for name in made.keys() | planned.keys() if made.get(name) != planned.get(name))
    if not differ:
        return Finding(ID, Status.PASS, facts.host, "the caches were made with this environment")
    told = ", ".join(
        f"{name} was {made.get(name, 'not set')}, is {planned.get(name, 'not set')}" for name in differ[:3]
    )
    remedy = "warm the caches with the environment of the launch, byte for byte"
    return Finding(ID, Status.WARN, facts.host, told, "the environment that the caches were made with", remedy)


def _shared(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in OF_ONE_HOST}


def keyed(env: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: value for name, value in env if name.startswith("VLLM_") and name not in IGNORED}
