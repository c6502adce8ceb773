from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.cpu import read_cpu
from inventory.facts.host import Cpu
from tests.answered import Said, answers

CPU = "/sys/devices/system/cpu"


def machine(
    placed: dict[int, tuple[int, int]],
    *,
    online: str,
    allowed: str | None = None,
    siblings: dict[int, str] | None = None,
    **more: Said,
) -> dict[str, Said]:
    """`placed`: package and core id by CPU."""
    ids = [
        line
        for cpu, (package, core) in placed.items()
        for line in (f"cpu{cpu}/topology/physical_package_id:{package}", f"cpu{cpu}/topology/core_id:{core}")
    ]
    pairs = [f"cpu{cpu}/topology/thread_siblings_list:{text}" for cpu, text in (siblings or {}).items()]
    return {
        "processor.online": f"{online}\n",
        "processor.allowed": f"{allowed or online}\n",
        "processor.topology": "".join(f"{CPU}/{line}\n" for line in ids),
        "processor.siblings": "".join(f"{CPU}/{line}\n" for line in pairs),
        **{f"processor.{key}": said for key, said in more.items()},
    }


def read(items: dict[str, Said]) -> Cpu:
    cpu = read_cpu(answers(items))
    assert not isinstance(cpu, Unknown)
    return cpu


def test_core_ids_restart_in_each_package() -> None:
    placed = {cpu: (cpu % 2, cpu // 2 % 4) for cpu in range(16)}
    cpu = read(machine(placed, online="0-15"))
    assert (cpu.sockets, cpu.physical_cores, len(cpu.online)) == (2, 8, 16)


def test_an_offline_sibling_does_not_halve_the_cores() -> None:
    placed = {cpu: (0, cpu) for cpu in range(4)}  # CPUs 4-7 are offline and have no topology
    assert read(machine(placed, online="0-3")).physical_cores == 4


def test_a_cpuset_counts_whole_cores_of_which_it_holds_a_thread() -> None:
    placed = {cpu: (0, cpu % 4) for cpu in range(8)}
    cpu = read(machine(placed, online="0-7", allowed="0-1,4"))
    assert (cpu.physical_cores, cpu.physical_cores_machine, cpu.allowed) == (2, 4, (0, 1, 4))


def test_allowed_cpus_that_are_offline_do_not_count() -> None:
    placed = {cpu: (0, cpu) for cpu in range(2)}
    assert read(machine(placed, online="0-1", allowed="0-63")).allowed == (0, 1)


def test_siblings_decide_where_core_ids_repeat() -> None:
    """Hybrid and multi-die processors repeat core ids within a package."""
    placed = {cpu: (0, cpu % 2) for cpu in range(4)}
    siblings = {cpu: str(cpu) for cpu in range(4)}
    assert read(machine(placed, online="0-3", siblings=siblings)).physical_cores == 4


def test_package_minus_one_is_not_a_socket() -> None:
    placed = {cpu: (-1, cpu) for cpu in range(4)}
    cpu = read(machine(placed, online="0-3"))
    assert (cpu.sockets, cpu.physical_cores) == (0, 4)


def test_without_any_topology_each_cpu_is_a_core() -> None:
    assert read(machine({}, online="0,1")).physical_cores == 2


def test_no_online_list_on_old_kernels() -> None:
    items = machine({cpu: (0, cpu) for cpu in range(4)}, online="0-3")
    items["processor.online"] = (1, "cat: online: No such file or directory")
    items["processor.online-each"] = f"{CPU}/cpu1/online:1\n{CPU}/cpu3/online:0\n"
    assert read(items).online == (0, 1, 2)


def test_model_names() -> None:
    one = machine({0: (0, 0)}, online="0")
    cpuinfo = "processor\t: 0\nmodel name\t: Some CPU\n"
    assert read(one).model == ""
    assert read({**one, "processor.cpuinfo": cpuinfo}).model == "Some CPU"
    told = {**one, "processor.cpuinfo": cpuinfo, "processor.lscpu": "Model name:    Neoverse-V2\n"}
    assert read(told).model == "Neoverse-V2"
    assert read({**told, "processor.lscpu": "Model name:    -\n"}).model == "Some CPU"


def test_no_answer_is_no_cpu_count() -> None:
    refused = read_cpu(answers({"processor.online": (1, "cat: online: Permission denied")}))
    assert isinstance(refused, Unknown)
    assert refused.why is Why.REFUSED


def test_an_empty_allowed_set_is_unreadable() -> None:
    nowhere = read_cpu(answers(machine({0: (0, 0)}, online="0", allowed="7")))
    assert nowhere == Unknown(Why.UNREADABLE, "allowed CPUs '7', none of them online")


def test_the_threads_of_a_core_stand_together_and_only_those_that_are_allowed() -> None:
    siblings = {cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}
    placed = {cpu: (0, cpu % 4) for cpu in range(8)}
    assert read(machine(placed, online="0-7", allowed="0-1,4", siblings=siblings)).cores == ((0, 4), (1,))
    assert read(machine(placed, online="0-7")).cores == ((0, 4), (1, 5), (2, 6), (3, 7)), "by ids, without siblings"


def test_no_cores_are_told_where_the_kernel_does_not_tell_them() -> None:
    assert read({"processor.online": "0-3\n", "processor.allowed": "0-3\n"}).cores == ()
