"""Whatever the gang: the options that reach the hosts name each rank once, and the pinned version takes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from launch.building.command import Program, render
from launch.placing.place import Layout, place
from launch.placing.placement import LoadBalancing, Placement
from launch.placing.processes import processes_of
from launch.vllm_args import check, parse
from launch.vllm_args.translations import translate
from tests.unit.launch.gangs import facts, hosts

V33 = "0.33.0"
PROGRAM = Program("/s/envs/e/bin/vllm", "/s/weights/m/c", "/s/caches", "model")
ARGV = ("vllm", "serve", "org/model", "--enable-expert-parallel", "--data-parallel-address", "$HEAD_IP", "-O2")


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    count = draw(st.integers(1, 6))
    tensor, pipeline = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([1, 2]))
    spans = count if draw(st.booleans()) else 1
    layout = Layout(
        load_balancing=draw(st.sampled_from([LoadBalancing.INTERNAL, LoadBalancing.HYBRID, LoadBalancing.EXTERNAL])),
        tensor_parallel_size=tensor * spans,
        pipeline_parallel_size=pipeline,
        ranks_per_host=1 if spans > 1 else draw(st.integers(1, 4)),
        hosts_per_rank=spans,
        http_port=8000,
        rpc_port=13345,
        needs_gpus=True,
    )
    gang = hosts(count)
    return place(gang, facts(gang, [layout.ranks_per_host * layout.width] * count), layout)


@given(placements())
def test_the_options_of_all_hosts_cover_every_rank_once(placement: Placement) -> None:
    covered: list[int] = []
    for node in placement.nodes:
        command = render(ARGV, {}, node=node, placement=placement, program=PROGRAM)
        assert check(command.argv[1:], dict(command.env), V33) == ()
        values = parse(command.argv[1:], V33).values
        assert bool(values.get("headless")) == (not node.serves)
        if placement.hosts_per_rank > 1:
            assert (values["nnodes"], values["node_rank"]) == (len(placement.nodes), node.node_rank)
            covered += [0] * placement.engine_cores(node)
            continue
        start = values.get("data_parallel_start_rank", values.get("data_parallel_rank", 0))
        local = values.get("data_parallel_size_local", 1)
        assert values.get("data_parallel_size", 1) == placement.data_parallel_size
        covered += range(start, start + local)
    assert covered == list(range(placement.data_parallel_size))


@given(placements())
def test_gpus_and_workers_are_as_many_as_the_sizes_say(placement: Placement) -> None:
    width = placement.tensor_parallel_size * placement.pipeline_parallel_size
    gpus = [len(rank.gpus) for node in placement.nodes for rank in node.ranks]
    assert sum(gpus) == placement.data_parallel_size * width
    for node in placement.nodes:
        used = [gpu for rank in node.ranks for gpu in rank.gpus]
        assert len(used) == len(set(used)) == processes_of(node, placement, api_servers=1).workers


@given(
    st.lists(st.sampled_from(["-tp", "2", "--tokenizer-mode", "glm5_next", "-ac", '{"use_fp4_indexer_cache":true}']))
)
def test_translating_twice_changes_nothing_more(words: list[str]) -> None:
    once = translate(["m", *words], {"VLLM_USE_V1": "0"}, V33)
    again = translate(once.argv, once.env, V33)
    assert (again.argv, again.env, again.notes) == (once.argv, once.env, ())
