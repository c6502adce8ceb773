"""The picture of a plan: everything is drawn, once, to scale, and nothing of a host's text can be markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.errors import ExitCode
from launch import verbs
from launch.plans.document import LaunchPlan, Memory, MemoryPart
from launch.plans.picture.gpu import WIDTH
from launch.plans.picture.host import extent, nodes_of
from launch.plans.picture.page import page
from launch.plans.picture.svg import WIDEST, svg
from tests.answered import HOSTS
from tests.unit.launch.plans.drawn import plan_on

SVG = "{http://www.w3.org/2000/svg}"
H200 = plan_on("h200-hgx")
GIB = 2**30


def parsed(picture: str) -> Element:
    return fromstring(picture)  # noqa: S314  (what our own function wrote)


def texts(picture: str) -> list[str]:
    return [one.text or "" for one in parsed(picture).iter(f"{SVG}text")]


def titles(picture: str) -> list[str]:
    return [one.text or "" for one in parsed(picture).iter(f"{SVG}title")]


def many(plan: LaunchPlan, hosts: int) -> LaunchPlan:
    return replace(plan, hosts=tuple(replace(plan.head, name=f"tray{at:02}", node_rank=at) for at in range(hosts)))


def holding(**parts: int) -> LaunchPlan:
    memory = replace(H200.memory, parts=tuple(MemoryPart(name, size) for name, size in parts.items()))
    return replace(H200, memory=memory)


def test_every_nic_is_drawn_once_below_the_gpu_that_it_is_nearest_to() -> None:
    root = parsed(svg(H200))
    said = {one.text: (float(one.attrib["x"]), float(one.attrib["y"])) for one in root.iter(f"{SVG}text")}
    named = [name for name in said if name and name.startswith("mlx5_")]
    assert sorted(named) == sorted(nic.name for nic in H200.head.nics)
    for nic in H200.head.nics:
        if nic.near:
            (gpu_x, gpu_y), (x, y) = said[f"GPU {nic.near[0]}"], said[nic.name]
            assert abs(gpu_x - x) < WIDTH / 2
            assert y > gpu_y


def test_what_is_too_much_for_a_gpu_is_marked() -> None:
    tray = plan_on("gb200-tray")
    assert tray.memory.fits is False
    said = texts(svg(tray))
    assert sum(text.endswith("too much") for text in said) == 4
    assert any(text.startswith("memory: it does not fit: 960.0 GB needed of 768.0 GB") for text in said)
    assert not any(text.endswith("too much") for text in texts(svg(H200)))


def test_lines_between_hosts_are_straight_and_cross_none() -> None:
    root = parsed(svg(many(H200, 9)))
    frames = [one for one in root.iter(f"{SVG}rect") if one.attrib.get("fill") == "#f7f9fb"]
    boxes = [[float(one.attrib[key]) for key in ("x", "y", "width", "height")] for one in frames]
    dashed = [one for one in root.findall(f"{SVG}line") if "stroke-dasharray" in one.attrib]
    drawn = [[float(one.attrib[key]) for key in ("x1", "y1", "x2", "y2")] for one in dashed]
    assert drawn
    for x1, y1, x2, y2 in drawn:
        assert x1 == x2 or y1 == y2
        for x, y, width, height in boxes:
            beside = max(x1, x2) <= x or min(x1, x2) >= x + width
            assert beside or max(y1, y2) <= y or min(y1, y2) >= y + height


def test_every_gpu_and_rank_is_drawn_once() -> None:
    said = texts(svg(H200))
    assert [text for text in said if text.startswith("GPU ")] == [f"GPU {at}" for at in range(8)]
    assert sorted(text for text in said if text.startswith("rank ")) == sorted(f"rank {at}" for at in range(8))
    assert any(text.startswith("NUMA node 0") for text in said)


def test_an_unused_gpu_says_so_and_why() -> None:
    spare = replace(H200.head.gpus[7], rank=None, worker=None, unused="a rank takes 2")
    plan = replace(H200, hosts=(replace(H200.head, gpus=(*H200.head.gpus[:7], spare)),))
    assert "unused" in texts(svg(plan))
    assert any("a rank takes 2" in title for title in titles(svg(plan)))


def test_a_device_whose_node_is_not_told_is_still_drawn() -> None:
    lost = tuple(replace(gpu, numa_node=None) for gpu in H200.head.gpus)
    plan = replace(H200, hosts=(replace(H200.head, gpus=lost),))
    assert "no NUMA node told" in texts(svg(plan))
    assert sum(text.startswith("GPU ") for text in texts(svg(plan))) == 8


def test_a_node_of_gpu_memory_alone_is_not_drawn() -> None:
    tray = plan_on("gb200-tray").head
    assert all(one.gpus or one.nics or one.detail.startswith("CPUs") for one in nodes_of(tray))
    assert len(nodes_of(tray)) < len(tray.numa)


def bars(picture: str) -> list[Element]:
    frames = parsed(picture).iter(f"{SVG}rect")
    return [one for one in frames if (title := one.find(f"{SVG}title")) is not None and ": " in (title.text or "")]


def test_the_memory_is_to_scale() -> None:
    plan = holding(weights=60 * GIB, kv=30 * GIB, outside=10 * GIB)
    widths = [float(one.attrib["width"]) for one in bars(svg(plan)) if one.attrib["height"] == "14"][:3]
    gpu = H200.head.gpus[0].memory_bytes or 0
    assert widths == pytest.approx([(WIDTH - 16) * share * GIB / gpu for share in (60, 30, 10)], rel=1e-3)


def test_memory_that_is_not_known_is_an_empty_bar() -> None:
    plan = holding()
    assert "memory of a GPU: not known for this model" in texts(svg(plan))


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert svg(H200) == svg(plan_on("h200-hgx"))
    assert page(H200) == page(plan_on("h200-hgx"))


@pytest.mark.parametrize("hosts", [1, 2, 9, 64])
def test_hosts_never_overlap_and_lie_within_the_picture(hosts: int) -> None:
    plan = many(H200, hosts)
    root = parsed(svg(plan))
    frames = [one for one in root.iter(f"{SVG}rect") if one.attrib.get("fill") == "#f7f9fb"]
    corners = {(float(one.attrib["x"]), float(one.attrib["y"])) for one in frames}
    width, height = extent(plan.head)
    assert len(corners) == hosts
    for x, y in corners:
        assert x + width <= max(float(root.attrib["width"]), WIDEST)
        assert y + height <= float(root.attrib["height"])
    for first in corners:
        apart = [abs(first[0] - x) >= width or abs(first[1] - y) >= height for x, y in corners if (x, y) != first]
        assert all(apart)


def test_what_joins_whom_is_told() -> None:
    plan = many(H200, 3)
    joins = [title for title in titles(svg(plan)) if "joins" in title]
    assert joins == [f"tray{at:02} joins tray00 at {plan.head.address}:{plan.layout.rpc_port}" for at in (1, 2)]


@settings(deadline=None, max_examples=30)
@given(st.text(max_size=40))
def test_any_text_of_a_host_stays_text(hostile: str) -> None:
    host = replace(H200.head, name=hostile, interface=hostile, clique=hostile)
    plan = replace(H200, name=hostile, hosts=(host,), left_out=((hostile, hostile),))
    parsed(svg(plan))
    assert "<script" not in page(plan).lower()


def test_markup_in_names_is_shown_as_text() -> None:
    host = replace(H200.head, name="<script>alert(1)</script>")
    plan = replace(H200, name="<script>", hosts=(host,))
    assert "<script" not in svg(plan)
    assert "<script" not in page(plan)
    assert any(text.startswith("<script>") for text in texts(svg(plan)))


def test_the_page_needs_nothing_else() -> None:
    text = page(H200)
    assert "src=" not in text
    assert "@import" not in text
    assert "<link" not in text
    assert text.count("<svg") == 1


def test_the_page_tells_all_of_the_plan() -> None:
    text = page(H200)
    for part in ("Why", "Alternatives", "Contested figures", "Commands", "--data-parallel-size 8"):
        assert part in text


def test_the_page_of_a_plan_without_memory() -> None:
    empty = Memory(None, "the gang", None, None, None, (), None, None, None, "")
    assert "it may not fit" in page(replace(H200, memory=empty, obstacles=(), alternatives=(), contested=()))


FLAGS = dict.fromkeys(
    (
        *("name", "variant", "strategy", "load_balancing", "feature", "no_feature", "revision", "nodes", "set"),
        *("port", "rpc_port", "recipes", "inventory", "hardware", "output", "save", "compare", "profile"),
        *("kv_cache_dtype", "quantization", "prefix_hash", "scheduling", "pinning", "lora", "max_lora_rank"),
        *("lora_loading", "api_key", "media_domains", "trust_remote_code"),
    ),
    "",
)


def drawn(svg_at: str = "", html_at: str = "") -> ExitCode:
    given = {"model": "deepseek-v4-pro", "hosts": "h200-hgx", "replay": str(HOSTS), "json": False}
    return ExitCode(verbs.of("plan")(**FLAGS, **given, svg=svg_at, html=html_at))


def test_the_verb_draws_both(tmp_path: Path) -> None:
    drawn(str(tmp_path / "a.svg"), str(tmp_path / "a.html"))
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
