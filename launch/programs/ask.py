"""Send one request to HTTP servers of this host, all at once, and print their answers as one JSON line.

Runs on the serving host with the engine's own Python:
`python - METHOD BASE_URL[,BASE_URL...] PATH TIMEOUT_S KEY_FILE < ask.py`; an empty KEY_FILE sends no key. What a POST
sends is the JSON text in the file descriptor 3.
"""

import concurrent.futures
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

LIMIT = 8 << 20
"""Bytes of an answer that are read."""
# Proxies of the environment are for the outside, never for the engine next door.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(method: str, url: str, body: bytes | None, timeout_s: float, key: str) -> dict[str, object]:
    """One answer: `status` and `body`, or `error`."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(url, data=body, method=method, headers=headers)  # noqa: S310  (the scheme is ours)
    try:
        with _OPENER.open(request, timeout=timeout_s) as response:
            return {"status": response.status, "body": response.read(LIMIT).decode(errors="replace")}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "body": error.read(4000).decode(errors="replace")}
    except (OSError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    method, bases, path, timeout_s, key_file = sys.argv[1:6]
    key = pathlib.Path(key_file).read_text(encoding="ascii").strip() if key_file else ""
    body = os.fdopen(3, "rb").read() if method == "POST" else None
    urls = bases.split(",")
    with concurrent.futures.ThreadPoolExecutor(len(urls)) as pool:
        answers = list(pool.map(lambda base: ask(method, f"{base}{path}", body, float(timeout_s), key), urls))
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
