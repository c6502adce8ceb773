"""Flags of ours for single options of vLLM, as settings over the recipe's. Pure; refuses what cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launch.choosing.settings import Setting
from launch.planned.lora import lora_settings
from launch.request import refused

YES, NO = ("yes", "true", "on"), ("no", "false", "off")
HASHES = {
    "sha256": "the usual one",
    "sha256_cbor": "the same in every language and Python, and the one for hosts that several tenants share",
    "xxhash": "fast, and can be made to collide on purpose: not where tenants share a host",
    "xxhash_cbor": "fast, the same in every language, and can be made to collide on purpose",
}
SCHEDULING = {
    "fcfs": "first come, first served",
    "priority": "a request's own `priority` decides, and the least urgent is preempted when the cache is full",
}
_DOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags as typed; empty: not given."""

    kv_cache_dtype: str = ""
    quantization: str = ""
    prefix_hash: str = ""
    scheduling: str = ""
    media_domains: str = ""
    trust_remote_code: str = ""
    lora: str = ""
    max_lora_rank: str = ""
    lora_loading: str = ""


def typed_settings(flags: Flags) -> tuple[Setting, ...]:
    """The settings that these flags ask for. Raises `BadInput`."""
    return (
        *_word("kv-cache-dtype", flags.kv_cache_dtype, "how the cache of keys and values is stored"),
        *_word("quantization", flags.quantization, "weights are quantised so while they are loaded"),
        *_one_of("prefix-hash", flags.prefix_hash, "prefix-caching-hash-algo", HASHES),
        *_one_of("scheduling", flags.scheduling, "scheduling-policy", SCHEDULING),
        *_media_domains(flags.media_domains),
        *_trust(flags.trust_remote_code),
        *lora_settings(flags.lora, flags.max_lora_rank, flags.lora_loading),
    )


def yes_or_no(flag: str, value: str, *, words: str = "yes or no") -> bool | None:
    """None: not given. `words`: those that the flag's help names."""
    word = value.strip().lower()
    if word and word not in {*YES, *NO}:
        raise refused(flag, value, words)
    return (word in YES) if word else None


def _word(flag: str, value: str, why: str) -> Iterator[Setting]:
    if value and not _WORD.fullmatch(value):
        raise refused(flag, value, f"a name that --{flag} of vLLM takes, such as fp8")
    if value:
        yield Setting(flag, value, typed=f"--{flag} {value}", why=why)


def _one_of(flag: str, value: str, option: str, among: Mapping[str, str]) -> Iterator[Setting]:
    if value and value not in among:
        raise refused(flag, value, f"one of {', '.join(among)}")
    if value:
        yield Setting(option, value, typed=f"--{flag} {value}", why=among[value])


def _media_domains(value: str) -> Iterator[Setting]:
    """Hosts that the server may fetch images and videos from when a request names a URL."""
    domains = [part.lower() for part in re.split(r"[,\s]+", value) if part]
    for domain in domains:
        if not _DOMAIN.fullmatch(domain):
            raise refused("media-domains", value, "names of hosts, without scheme, port and path")
    if domains:
        why = "a request's URL would else make the server fetch from anywhere, also inside the network"
        yield Setting("allowed-media-domains", " ".join(domains), typed=f"--media-domains {value}", why=why)


def _trust(value: str) -> Iterator[Setting]:
    wanted = yes_or_no("trust-remote-code", value)
    if wanted is not None:
        why = "Python of the model's repository runs on every host, as the user of the ranks, at the pinned commit"
        why = why if wanted else "no Python of the model's repository runs; a model that needs it does not load"
        yield Setting("trust-remote-code", str(wanted).lower(), typed=f"--trust-remote-code {value}", why=why)
