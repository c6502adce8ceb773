"""Ask an OpenAI-compatible endpoint for chat completions, all at once, and print what came back as one JSON line.

Runs on the serving host with the engine's own Python:
`python - BASE_URL[,BASE_URL...] MODEL PROMPT MAX_TOKENS COUNT TIMEOUT_S [KEY_FILE [tools]] < complete.py`.
Each of the COUNT data-parallel ranks behind an address is asked by its number, all at once: a rank that is dead is not
hidden by those that answer. `tools`: one request more for each address, which offers a tool to call.
"""

import json
import pathlib
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial

# Proxies of the environment are for the outside, never for the engine next door.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


RANK = "X-data-parallel-rank"  # vllm/entrypoints: an index into the ranks that this server serves
TOOL = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "The time in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
QUESTION = "What time is it in Zurich? Call the tool."
TOOL_TOKENS = 512  # a model that reasons says something first


def complete(
    base_url: str, body: dict[str, object], timeout_s: float, key: str = "", rank: "int | None" = None
) -> dict[str, object]:
    """One short completion: `ok`, `text`, `tokens`, `seconds`, and `error` with the address when it was none."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(  # noqa: S310  (the scheme is ours)
        f"{base_url}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={**headers, **({RANK: str(rank)} if rank is not None else {})},
    )
    began = time.monotonic()
    try:
        with _OPENER.open(request, timeout=timeout_s) as response:
            answer = json.load(response)
        message = answer["choices"][0]["message"]
        text = message.get("content") or message.get("reasoning_content") or ""
        tokens = answer["usage"]["completion_tokens"]
        calls = message.get("tool_calls") or []
    except urllib.error.HTTPError as error:
        return {"ok": False, "error": f"HTTP {error.code}: {error.read(300).decode(errors='replace')}"}
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    seconds = round(time.monotonic() - began, 3)
    told = {"ok": tokens > 0, "text": text[:80], "tokens": tokens, "seconds": seconds}
    if "tools" in body:
        told["called"] = bool(calls)
    return told if rank is None else {**told, "rank": rank}


def asked(
    base_url: str, body: dict[str, object], count: int, key: str, timeout_s: float, *, tools: bool
) -> "list[Callable[[], dict[str, object]]]":
    """The requests for one address, as functions without arguments."""
    ranks: list[int | None] = list(range(count)) if count > 1 else [None]
    one: list[Callable[[], dict[str, object]]] = [
        partial(complete, base_url, body, timeout_s, key, rank) for rank in ranks
    ]
    if tools:
        question = [{"role": "user", "content": QUESTION}]
        more = {**body, "messages": question, "max_tokens": TOOL_TOKENS, "tools": [TOOL], "tool_choice": "auto"}
        one.append(partial(complete, base_url, more, timeout_s, key))
    return one


def main() -> None:
    base_urls, model, prompt = sys.argv[1].split(","), *sys.argv[2:4]
    max_tokens, count, timeout_s = int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
    key = pathlib.Path(sys.argv[7]).read_text(encoding="ascii").strip() if "".join(sys.argv[7:8]) else ""
    messages = [{"role": "user", "content": prompt}]
    body = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    answers: list[dict[str, object]] = []
    tools = "tools" in sys.argv[8:]
    requests = [one for url in base_urls for one in asked(url, body, count, key, timeout_s, tools=tools)]
    threads = [threading.Thread(target=lambda one=one: answers.append(one()), daemon=True) for one in requests]
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
