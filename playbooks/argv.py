"""The few options that plans and checks read from a rendered command, by their long names, without an option schema."""

from __future__ import annotations

from collections.abc import Sequence

ALIASES = {
    "-dp": "--data-parallel-size",
    "-dpn": "--data-parallel-rank",
    "-dpr": "--data-parallel-start-rank",
    "-dpl": "--data-parallel-size-local",
    "-dpa": "--data-parallel-address",
    "-dpp": "--data-parallel-rpc-port",
    "-dpb": "--data-parallel-backend",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpe": "--data-parallel-external-lb",
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-r": "--node-rank",
    "-asc": "--api-server-count",
    "-q": "--quantization",
    "--kv-cache-memory": "--kv-cache-memory-bytes",
}
VALUED = frozenset(
    {
        *("--host", "--port", "--model", "--served-model-name", "--tokenizer", "--tokenizer-mode", "--revision"),
        *("--dtype", "--quantization", "--kv-cache-dtype", "--kv-cache-memory-bytes", "--block-size", "--seed"),
        *("--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization", "--load-format"),
        *("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size", "--data-parallel-size-local"),
        *("--data-parallel-start-rank", "--data-parallel-rank", "--data-parallel-address", "--data-parallel-rpc-port"),
        *("--data-parallel-backend", "--nnodes", "--node-rank", "--master-addr", "--master-port", "--api-server-count"),
        *("--distributed-executor-backend", "--tool-call-parser", "--reasoning-parser", "--chat-template", "--api-key"),
        *("--moe-backend", "--all2all-backend", "--attention-backend", "--speculative-config", "--compilation-config"),
        *(
            "--kv-transfer-config",
            "--hf-overrides",
            "--safetensors-load-strategy",
            "--shutdown-timeout",
            "--lora-modules",
        ),
        *("--decode-context-parallel-size", "--max-cudagraph-capture-size", "--download-dir", "--numa-bind-nodes"),
    }
)
"""Options that are nothing without a value."""


def options(argv: Sequence[str]) -> dict[str, str | None]:
    """The value of each option of `argv` by its long name, None for a flag; the last one counts, as for argparse."""
    told: dict[str, str | None] = {}
    for at, word in enumerate(argv):
        if not is_option(word):
            continue
        name, equals, value = word.partition("=")
        following = argv[at + 1] if at + 1 < len(argv) else None
        told[long_name(name)] = value if equals else None if following is None or is_option(following) else following
    return told


def is_option(word: str) -> bool:
    """Whether `word` begins an option; `-1` is a number."""
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit()


def long_name(name: str) -> str:
    spelt = name.replace("_", "-") if name.startswith("--") else name
    return ALIASES.get(spelt, spelt)


def number(told: dict[str, str | None], name: str) -> int | None:
    """The whole number that an option has, None when it is absent or none."""
    value = told.get(name)
    return int(value) if value is not None and value.isdigit() else None
