from __future__ import annotations

from launch.building.generation import Generation, Member
from launch.console.tables import status_rows
from launch.running.cache_lines import of_lines
from launch.running.status import Status
from launch.running.supervise import RankState, Told
from launch.running.survey import Deployment
from launch.running.verdict import judge

LINE = "INFO GPU KV cache size: 600,000 tokens, Maximum concurrency for 512 tokens per request: 1171.88x"
GANG = Generation(
    name="trial",
    generation="g1",
    recipe="bringup/tiny-dense",
    variant="default",
    strategy="multi_node_dp",
    vllm="0.33.0",
    served_name="trial",
    load_balancing="internal",
    prompt="hello",
    max_tokens=8,
    ports=(8000,),
    members=(
        Member("tray1", "http://10.0.0.1:8000", 0, 2, "/env/bin/python", "systemd"),
        Member("tray2", "", 2, 2, "/env/bin/python", "systemd"),
    ),
    kv_tokens=643_232,
    kv_at_most=True,
)


def test_status_shows_what_was_predicted_against_what_vllm_logged() -> None:
    told = {
        "tray1": Told("trial", RankState("g1", "running"), 3, GANG, of_lines([LINE, LINE])),
        "tray2": Told("trial", RankState("g1", "running"), 3, GANG),
    }
    deployment = Deployment(GANG, told, {})
    seen = Status(deployment, {"tray1": "running", "tray2": "running"}, (), judge(deployment, ()))
    columns, rows = status_rows(seen)
    shown = [dict(zip(columns, row, strict=True))["KV cache"] for row in rows]
    assert shown == ["2 x 600,000 tokens, predicted at most 643,232 (-6.7 %)", ""]
