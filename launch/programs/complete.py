"""Ask an OpenAI-compatible endpoint for chat completions, all at once, and print what came back as one JSON line.

Runs on the serving host with the engine's own Python:
`python - BASE_URL[,BASE_URL...] MODEL PROMPT MAX_TOKENS COUNT TIMEOUT_S [KEY_FILE] < complete.py`.
Several requests at once (COUNT for each address) make every data-parallel rank behind the endpoint answer one.
"""

import json
import pathlib
import sys
import threading
import time
import urllib.error
import urllib.request

# Proxies of the environment are for the outside, never for the engine next door.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def complete(base_url: str, body: dict[str, object], timeout_s: float, key: str = "") -> dict[str, object]:
    """One short completion: `ok`, `text`, `tokens`, `seconds`, and `error` with the address when it was none."""
    request = urllib.request.Request(  # noqa: S310  (the scheme is ours)
        f"{base_url}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})},
    )
    began = time.monotonic()
    try:
        with _OPENER.open(request, timeout=timeout_s) as response:
            answer = json.load(response)
        message = answer["choices"][0]["message"]
        text = message.get("content") or message.get("reasoning_content") or ""
        tokens = answer["usage"]["completion_tokens"]
    except urllib.error.HTTPError as error:
        return {"ok": False, "error": f"HTTP {error.code}: {error.read(300).decode(errors='replace')}"}
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    seconds = round(time.monotonic() - began, 3)
    return {"ok": tokens > 0, "text": text[:80], "tokens": tokens, "seconds": seconds}


def main() -> None:
    base_urls, model, prompt = sys.argv[1].split(","), *sys.argv[2:4]
    max_tokens, count, timeout_s = int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
    key = pathlib.Path(sys.argv[7]).read_text(encoding="ascii").strip() if "".join(sys.argv[7:]) else ""
    messages = [{"role": "user", "content": prompt}]
    body = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    answers: list[dict[str, object]] = []
    threads = [
        threading.Thread(target=lambda url=url: answers.append(complete(url, body, timeout_s, key)), daemon=True)
        for url in base_urls
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout_s + 1
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    missing = len(threads) - len(answers)
    answers += [{"ok": False, "error": f"no answer in {timeout_s:g} s"}] * missing
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
