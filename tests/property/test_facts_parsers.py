"""No reader raises, whatever a host says: it returns a value or an `Unknown`."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.facts.base import Unknown
from inventory.facts.bundle import read
from inventory.facts.cpulist import format_list, parse_list
from inventory.facts.disks import parse_findmnt, parse_mountinfo
from inventory.facts.gpu.amd_smi import parse_amd_smi, parse_documents, parse_links
from inventory.facts.gpu.amd_text import gpu_nodes, parse_amd_text, parse_tables
from inventory.facts.gpu.bridges import parse_bridges
from inventory.facts.gpu.imex import parse_domain
from inventory.facts.gpu.kfd import parse_gpu_links, parse_kfd
from inventory.facts.gpu.nccl import parse_identity, parse_nccl
from inventory.facts.gpu.nvidia_driver import parse_kernels, parse_linked, parse_lsmod, parse_module
from inventory.facts.gpu.nvidia_failures import find_failure, find_lost_gpus
from inventory.facts.gpu.nvidia_services import parse_units
from inventory.facts.gpu.nvlink import parse_nvlink_errors
from inventory.facts.gpu.rocm_smi import parse_rocm_smi
from inventory.facts.gpu.rocm_text import parse_agents, parse_concise, parse_rocm_text
from inventory.facts.gpu.topology import distances, parse_matrix
from inventory.facts.gpu.xid import parse_xids
from inventory.facts.host import HostFacts
from inventory.facts.limits import parse_limits
from inventory.facts.lspci import parse_lspci
from inventory.facts.machine import parse_dmidecode
from inventory.facts.network import parse_netstat
from inventory.facts.pasted import read_pasted
from inventory.facts.processes import parse_processes
from inventory.facts.rdma import gid_tables
from tests.answered import HOSTS, Said, fixture, framed

FIXTURES = {folder.name: fixture(folder.name) for folder in sorted(HOSTS.iterdir()) if folder.is_dir()}
TEXT_READERS: tuple[Callable[[str], object], ...] = (
    parse_findmnt,
    parse_mountinfo,
    parse_documents,
    parse_links,
    lambda text: parse_amd_smi(text, text, text),
    lambda text: gpu_nodes(parse_tables(text)),
    parse_amd_text,
    parse_kfd,
    find_failure,
    find_lost_gpus,
    parse_rocm_smi,
    parse_rocm_text,
    parse_agents,
    parse_concise,
    parse_lspci,
    parse_dmidecode,
    parse_netstat,
    parse_limits,
    parse_units,
    gid_tables,
    parse_domain,
    parse_xids,
    parse_nvlink_errors,
    parse_nccl,
    parse_identity,
    parse_bridges,
    parse_linked,
    parse_kernels,
    parse_module,
    parse_lsmod,
    parse_processes,
    lambda text: distances(parse_matrix(text)),
    lambda text: parse_gpu_links(text, ["00000000:05:00.0"]),
)
HOST = st.sampled_from(sorted(FIXTURES))


def facts(items: dict[str, Said]) -> HostFacts:
    return read(framed(items), host="x", noise=b"", seconds=0, sent_at=0, received_at=1)


def text_of(said: Said) -> bytes:
    if isinstance(said, tuple):
        return said[1].encode()
    return said if isinstance(said, bytes) else said.encode()


@given(host=HOST, share=st.floats(min_value=0, max_value=1), seed=st.integers())
@settings(max_examples=60, deadline=None)
def test_every_item_cut_somewhere(host: str, share: float, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    cut: dict[str, Said] = {}
    for name, said in FIXTURES[host].items():
        body = text_of(said)
        keep = len(body) if dice.random() < share else dice.randrange(len(body) + 1)
        cut[name] = body[:keep]
    assert isinstance(facts(cut), HostFacts)


@given(host=HOST, seed=st.integers())
@settings(max_examples=60, deadline=None)
def test_every_items_lines_shuffled(host: str, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    shuffled: dict[str, Said] = {}
    for name, said in FIXTURES[host].items():
        lines = text_of(said).splitlines(keepends=True)
        dice.shuffle(lines)
        shuffled[name] = b"".join(lines)
    assert isinstance(facts(shuffled), HostFacts)


@given(host=HOST, seed=st.integers())
@settings(max_examples=40, deadline=None)
def test_every_item_says_what_another_says(host: str, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    names = list(FIXTURES[host])
    mixed: dict[str, Said] = {name: text_of(FIXTURES[host][dice.choice(names)]) for name in names}
    assert isinstance(facts(mixed), HostFacts)


@given(items=st.dictionaries(st.sampled_from(sorted(FIXTURES["gb200-tray"])), st.binary(max_size=200)))
@settings(max_examples=60, deadline=None)
def test_garbage_items(items: dict[str, bytes]) -> None:
    assert isinstance(facts({**FIXTURES["gb200-tray"], **items}), HostFacts)


@given(data=st.binary(max_size=500))
def test_a_garbage_answer_leaves_everything_unknown(data: bytes) -> None:
    host = read(data, host="x", noise=data, seconds=0, sent_at=0, received_at=1)
    subjects = (
        "system",
        "cpu",
        "numa",
        "memory",
        "file_systems",
        "network",
        "listeners",
        "gpus",
        "software",
        "deployments",
    )
    assert all(isinstance(getattr(host, subject), Unknown) for subject in subjects)
    assert {field.name for field in dataclasses.fields(host)} >= set(subjects)


PASTED = [text_of(said).decode(errors="replace") for host in sorted(FIXTURES) for said in FIXTURES[host].values()]


@given(text=st.one_of(st.text(max_size=300), st.sampled_from(PASTED)), cut=st.integers(min_value=0, max_value=4000))
@settings(max_examples=150, deadline=None)
def test_any_pasted_text(text: str, cut: int) -> None:
    host = read_pasted("x", [text[cut:], text[:cut]])
    assert isinstance(host, HostFacts)
    for reader in TEXT_READERS:
        reader(text[:cut])


@given(cpus=st.sets(st.integers(min_value=0, max_value=4095)))
def test_lists_of_cpus_read_back(cpus: set[int]) -> None:
    assert parse_list(format_list(tuple(cpus))) == tuple(sorted(cpus))
