"""Flags that verbs share, and what each means: the text of `invoke VERB --help`."""

from __future__ import annotations

from typing import Any

CHOICE = (
    *("model", "hosts", "name", "variant", "strategy", "load_balancing", "feature", "no_feature", "revision"),
    *("nodes", "set", "port", "rpc_port", "recipes", "inventory"),
)
"""Flags of every verb that decides a launch."""

SETTINGS = (
    *("profile", "kv_cache_dtype", "quantization", "prefix_hash", "scheduling", "pinning"),
    *(
        "lora",
        "max_lora_rank",
        "lora_loading",
        "kv_memory",
        "weights_from",
        "api_key",
        "media_domains",
        "trust_remote_code",
    ),
)
"""Flags of every verb that decides how it serves."""

DEPLOYED: dict[str, Any] = {"hosts": "all", "name": "", "inventory": ""}
"""Flags of every verb on a deployment that is there, with their defaults."""

INSTALL = (
    *("playbook", "value", "limit", "from_phase", "stop_before", "save", "apply"),
    *("image_digest", "image_archive"),
)
"""Flags of `install` beside those of a launch, of which it needs none."""

RECOVERY: dict[str, Any] = {"rollback_on_failure": False, "supervise": False, "alert": ""}
"""Flags of `deploy` about what follows a failure, at once and later."""

LOGS: dict[str, Any] = {"lines": "", "rank": "", "since": "", "follow": False, "nccl": False, "json": False}
"""Flags of `logs`."""

DECISIONS = ("accept_unknown", "override", "because")
"""Flags of every verb that judges one."""

HELP = {
    "model": "recipe: a friendly name (deepseek-v4-pro), a unique prefix or a full id",
    "lab_up.hosts": "number of hosts, 1 to 200; default 2",
    "hosts": "selection: tray1,gpu[01-16],@rack2,!gpu07; `local` is this machine",
    "name": "name of the deployment; default: the recipe's, later the only one that is there",
    "variant": "variant of the recipe; default: the one that the hosts can run",
    "strategy": "layout of the recipe: single_node_tp, multi_node_dep, ...",
    "load-balancing": "endpoints of data-parallel ranks: internal (one), hybrid (one a host), external (one a rank)",
    "ray": "as with Ray: what starts its cluster on every node, and the one command of the head",
    "feature": "features to switch on, separated by commas: spec_decoding, or one mode of it: spec_decoding=mtp",
    "no-feature": "features to leave out that the recipe switches on",
    "revision": "commit of the weights, 40 hexadecimal digits; default: the one that the recipe pins",
    "set": "vLLM options over the recipe's: max-model-len=200000,kv-cache-dtype=fp8; braces keep JSON whole",
    "plan.save": "with --output shell or compose: write a file for each host into this new folder",
    "output": "text, json, shell (a script for each host) or compose (a compose file for each host)",
    "svg": "draw hosts, NUMA nodes, GPUs with their ranks and memory, NICs and links into this file",
    "html": "the same drawing, with the reasons, alternatives and commands, as one file that needs nothing else",
    "compare": "two plans that --json wrote, with a comma between them: what differs, and what that means",
    "plan.nodes": "how many of --hosts: the best are taken; default: all; with --hardware as few as hold the weights",
    "deploy.nodes": "how many of --hosts: the best are taken; default: all",
    "check.nodes": "how many of --hosts: the best are taken; default: all",
    "seconds": "time between the two looks; default 5",
    "metrics_export.output": "folder for prometheus.yml, alerts.yml and dashboard.json; default metrics-NAME",
    "scrape": "seconds between two looks of Prometheus; default 15",
    "ttft-p95": "alert when 5 % of first tokens take longer than so many seconds; default: no such alert",
    "itl-p95": "alert when 5 % of the gaps between tokens are longer than so many seconds; default: no such alert",
    "requests": "number of requests; default 100",
    "input-tokens": "tokens of each random prompt; default 1024",
    "output-tokens": "tokens of each answer; default 256",
    "concurrency": "at most so many requests at once; default: all",
    "rate": "requests a second; default: as fast as --concurrency allows",
    "speed-bench": "folder on the head with the files of SPEED-Bench: text, for speculative decoding",
    "subset": "part of SPEED-Bench: qualitative (default), throughput_1k, _2k, _8k, _16k or _32k",
    "guidellm": "GuideLLM on the head, an absolute path, in the place of `vllm bench serve`",
    "bench.compare": "ids of two benchmarks with a comma between them: what is better and what worse",
    "token-file": "file on this machine with the tunnel token of Tokios' dashboard",
    "connector": "Tokios' connector on the head; default /usr/local/bin/tokios-connector",
    "hooks": "commands of the inventory that follow when it serves, separated by commas; `always` ones need no name",
    "client": "claude-code, openai or curl",
    "lora_load.adapter": "NAME=PATH: a folder with an adapter, on every host that serves",
    "lora_unload.adapter": "names of adapters, separated by commas",
    "port": "HTTP port of the public endpoints; default 8000",
    "rpc-port": "port where data-parallel ranks join the head; default 13345",
    "recipes": "another checkout of the recipe catalogue",
    "inventory": "inventory file; default $BRINGUP_INVENTORY, a running lab's, or inventory/hosts.yaml",
    "accept-unknown": "ids of checks whose unknown is accepted, separated by commas",
    "override": "ids of checks whose failure is accepted, separated by commas; needs --because",
    "because": "why the overridden checks may fail; kept on the hosts",
    "image-digest": "the build of an image, sha256:...: where this machine cannot ask the registry, or the tag moves",
    "image-archive": "a file of `docker save`, or an OCI archive, instead of a registry: given to hosts from here",
    "timeout": "seconds until all ranks must be ready; default 1800",
    "dry-run": "print the plan and stop: exit 0 when nothing is to do, 8 when changes are pending",
    "playbook": "playbooks, separated by commas: tuning (default), nvidia, amd, tools, or files that end in .yaml",
    "value": "settings of playbooks: hugepages=1024,shm_size=64g",
    "limit": "selection: only these of --hosts",
    "from-phase": "leave out the phases before: prepare, install, configure, reboot, services, provision",
    "stop-before": "leave out this phase and those behind it",
    "install.save": "write the plan to this new file and stop",
    "apply": "a file that --save wrote: do that plan, if it is still what the hosts need",
    "install.diff": "show what changes inside files",
    "reboot": "restart the hosts that need it, one after the other, and go on",
    "fetch": "hub-once (default: some hosts fetch, and give to the others), hub-each, shared or push (from here)",
    "from-": "hub (default), modelscope, or a folder: on this machine for --fetch push, else on the hosts",
    "limit-rate": "most bytes a second of every host: 200M, 1.5G",
    "prefetch.status": "what hosts have of weights, and what is being fetched",
    "prefetch.cancel": "end what hosts are fetching; what came is kept",
    "running": "only those that still run",
    "json": "one JSON document on stdout",
    "deploy.json": "the plan, each step and the outcome, a JSON document a line; with --dry-run the plan alone",
    "preload.json": "the plan, each step and the outcome, a JSON document a line; with --dry-run the plan alone",
    "logs.json": "one JSON document on stdout; with --follow one a line of a log",
    "lines": "last lines of each host's log; default 50",
    "rank": "only the processes of this data-parallel rank",
    "since": "only what was written since: 90s, 10m, 2h ago, or a time such as 2026-01-31T12:30",
    "follow": "go on with what is written from now on, until Ctrl-C",
    "nccl": "also what NCCL says of itself",
    "to": "the generation, as invoke history shows it; default: the one that served before",
    "supervise": "leave a guard on the hosts: it restarts the group once when it is down, never a lone rank",
    "alert": "the command that the guard runs with a sentence on its stdin, such as 'logger -t bringup'",
    "rollback-on-failure": "when the start fails, go back to the generation that served before",
    "replace": "replace a host key that has changed: only when you know why it did",
    "hardware": "hardware profile of the recipes' taxonomy: gb200, h200, mi355x, ...",
    "nodes": "number of nodes; default: as few as hold the weights",
    "context": "tokens of one request; default: --max-model-len of the launch",
    "config": "the config.json of a model on this machine, instead of the numbers that come with the recipe",
    "vllm": "vLLM version with an option schema here; default: each recipe's own, else the newest",
    "profile": "what it is tuned for: latency, throughput, long-context, agent or mixed; default: as the recipe is",
    "lab_up.profile": "simulated hardware: cpu (default), gb200, h200, mi355x, dgx-spark, ...",
    "kv-cache-dtype": "how the cache of keys and values is stored: auto, fp8, nvfp4, ...; default: the recipe's",
    "quantization": "quantise a checkpoint in 16 bits while it is loaded: fp8_per_tensor, mxfp8, ...",
    "prefix-hash": "hash of cached prefixes: sha256 (default), sha256_cbor, xxhash, xxhash_cbor",
    "scheduling": "fcfs (default), or priority: by the `priority` of each request",
    "pinning": "on (default): processes are bound to cores and NUMA nodes as the facts allow; off",
    "lora": "adapters, separated by commas: name=/folder/on/the/hosts",
    "max-lora-rank": "highest rank of an adapter: 1, 8, 16 (default), 32, 64, 128, 256, 320 or 512",
    "lora-loading": "static (default), or dynamic: adapters may be loaded while it serves, with one API server",
    "kv-memory": "measured: give each GPU the KV cache that an identical start printed, and profile none; default: no",
    "weights-from": "disk (default), or daemon: what `invoke preload` holds in the memory of the GPUs",
    "api-key": "key that clients must send: a file that holds it, or generate; default: none is asked for",
    "media-domains": "hosts that images and videos may be fetched from, separated by commas; default: all",
    "trust-remote-code": "yes or no: whether Python of the model's repository runs; default: as the recipe says",
    "network": "control, fabric or both",
    "systemd": "boot a real systemd in each host",
    "yes": "record the keys without asking",
    "weights_gc.yes": "remove what is shown",
    "weights_gc.dry-run": "only show, also with --yes",
    "weights_verify.digests": "read every byte, as a detached job, instead of comparing sizes",
    "weights_verify.model": "only folders of models with this in their name",
    "host-detail": "everything of each host, as a tree",
    "save": "keep the answers as a bundle in this new folder, without MACs, serials, UUIDs and tokens",
    "check.plan": "a file of `invoke plan --json`: check that launch, with the flags that it was made with",
    "only": "ids of checks: run no others; leaving out one of priority 0 needs --because",
    "skip": "ids of checks that are not run; one of priority 0 needs --because",
    "active": "also the checks that send packets between the hosts, use their GPUs and read weights: some minutes",
    "record": "folder of dated records; default ~/.local/state/bringup/records",
    "raw": "with --save: keep MACs, serials, UUIDs and tokens in the bundle too",
    "capture": "keep stacks, counters, logs and facts of all hosts in this new folder; takes up to 90 s",
    "diagnose.replay": "a folder of --capture, or of logs that somebody sent: no host is contacted",
    "replay": "a bundle, or a folder of outputs that people sent, instead of the hosts: none is contacted",
    "diff": "a bundle: what changed since, the gravest first",
}
