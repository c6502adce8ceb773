"""A gang of two hosts that serve, as `generation.json` tells it."""

from __future__ import annotations

from dataclasses import replace

from launch.building.generation import Generation, Member

PYTHON = "/var/lib/bringup/envs/e1/bin/python"
MEMBERS = (
    Member("tray1", "http://10.2.0.1:8000", 0, 4, PYTHON, "systemd"),
    Member("tray2", "http://[fd00::2]:8000", 4, 4, PYTHON, "systemd"),
)
GANG = Generation(
    name="deepseek-v4-pro",
    generation="0123456789ab",
    recipe="deepseek-ai/DeepSeek-V4-Pro",
    variant="default",
    strategy="multi_node_dep",
    vllm="0.33.0",
    served_name="deepseek-v4-pro",
    load_balancing="hybrid",
    prompt="Hi.",
    max_tokens=4,
    ports=(8000, 13345),
    members=MEMBERS,
)


def with_key(gang: Generation = GANG) -> Generation:
    return replace(gang, asks_key=True)
