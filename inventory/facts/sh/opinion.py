"""Runs on the host, in the environment of the ranks: what psutil and py-cpuinfo say, as one JSON object on stdout."""  # noqa: INP001  (sent as text)

import json

told: dict[str, object] = {}
try:
    import psutil

    told["physical_cores"] = psutil.cpu_count(logical=False)
    told["allowed"] = psutil.Process().cpu_affinity()
except ImportError:
    pass
try:
    import cpuinfo  # type: ignore[import-not-found]

    told["flags"] = cpuinfo.get_cpu_info().get("flags")
except ImportError:
    pass
print(json.dumps(told))  # noqa: T201  (the answer)
