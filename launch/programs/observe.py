"""Look at ranks that run, without touching them; one JSON line: what `/metrics` says twice, and where processes run.

Runs on the serving host with the engine's own Python: `python - SECONDS BASE_URL[,BASE_URL...] PID... < observe.py`.
psutil comes with vLLM and is asked for affinities; without it the kernel is, by the standard library.
"""

import json
import os
import sys
import threading
import time
import urllib.request
from pathlib import Path

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PATIENCE_S = 4.0
MOST_PROCESSES = 256
MOST_BYTES = 400_000


def page(url: str) -> dict[str, object]:
    """The lines of vLLM's own metrics, with the time at which they came."""
    try:
        with _OPENER.open(f"{url}/metrics", timeout=PATIENCE_S) as response:
            text = response.read(8_000_000).decode(errors="replace")
    except (OSError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    ours = [line for line in text.splitlines() if line.startswith(("vllm:", "# TYPE vllm:")) and "_created" not in line]
    return {"at": time.monotonic(), "text": "\n".join(ours)[:MOST_BYTES] + "\n"}


def twice(url: str, seconds: float, found: dict[str, list[dict[str, object]]]) -> None:
    first = page(url)
    time.sleep(seconds)
    found[url] = [first, page(url)]


def affinity(pid: int) -> tuple[list[int], str]:
    """The CPUs that a process may use, and who says so."""
    try:
        import psutil

        return list(psutil.Process(pid).cpu_affinity()), "psutil"
    except Exception:  # noqa: BLE001  (not there, or the process is not: the kernel answers for itself)
        return sorted(os.sched_getaffinity(pid)), "sched_getaffinity"


def process(pid: int) -> dict[str, object] | None:
    """Name, CPUs and memory policy of one process; None when it is gone or not ours to look at."""
    folder = Path("/proc", str(pid))
    try:
        words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        cpus, source = affinity(pid)
        with (folder / "numa_maps").open(encoding="ascii", errors="replace") as maps:
            policies = sorted({line.split(maxsplit=2)[1] for _, line in zip(range(2000), maps, strict=False)})
        allowed = next(
            (
                line.split(":", 1)[1].strip()
                for line in (folder / "status").read_text().splitlines()
                if line.startswith("Mems_allowed_list")
            ),
            "",
        )
    except (OSError, IndexError, ValueError):
        return None
    return {"pid": pid, "name": words[:80], "cpus": cpus, "source": source, "policies": policies, "nodes": allowed}


def main() -> None:
    seconds, urls = float(sys.argv[1]), [one for one in sys.argv[2].split(",") if one]
    pages: dict[str, list[dict[str, object]]] = {}
    threads = [threading.Thread(target=twice, args=(url, seconds, pages), daemon=True) for url in urls]
    for thread in threads:
        thread.start()
    seen = [process(int(pid)) for pid in sys.argv[3:][:MOST_PROCESSES]]
    deadline = time.monotonic() + seconds + 2 * PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    sys.stdout.write(json.dumps({"pages": dict(pages), "processes": [one for one in seen if one]}) + "\n")


if __name__ == "__main__":
    main()
