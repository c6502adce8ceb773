"""The options of each pinned vLLM: `check(argv, env, version)` and `parse(argv, version)`."""

from launch.vllm_args.check import check
from launch.vllm_args.parse import Kind, Parsed, Refusal, UnknownVersion, parse

__all__ = ["Kind", "Parsed", "Refusal", "UnknownVersion", "check", "parse"]
