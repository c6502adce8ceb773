from __future__ import annotations

import pytest

from playbooks.environments import environment_names, load_environment
from playbooks.wheelhouse.lock import read_pins
from playbooks.wheelhouse.target import Target, fitness, holds

X86 = Target(12, "x86_64", (2, 35))
ARM = Target(11, "aarch64", (2, 28))


@pytest.mark.parametrize(
    ("name", "target", "fits"),
    [
        ("a-1-py3-none-any.whl", X86, True),
        ("a-1-py2.py3-none-any.whl", X86, True),
        ("a-1-py2-none-any.whl", X86, False),
        ("a-1-py310-none-any.whl", X86, True),
        ("a-1-py313-none-any.whl", X86, False),
        ("a-1-cp312-cp312-manylinux_2_28_x86_64.whl", X86, True),
        ("a-1-cp312-cp312-manylinux_2_28_x86_64.whl", ARM, False),
        ("a-1-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", ARM, True),
        ("a-1-cp311-cp311-manylinux_2_34_aarch64.whl", ARM, False),
        ("a-1-cp311-cp311-manylinux_2_34_aarch64.whl", Target(11, "aarch64", (2, 34)), True),
        ("a-1-cp38-abi3-manylinux1_x86_64.whl", X86, True),
        ("a-1-cp313-abi3-manylinux1_x86_64.whl", X86, False),
        ("a-1-cp312-cp312t-manylinux_2_28_x86_64.whl", X86, False),
        ("a-1-cp312-cp312-musllinux_1_2_x86_64.whl", X86, False),
        ("a-1-cp312-cp312-macosx_11_0_arm64.whl", X86, False),
        ("a-1-cp312-cp312-win_amd64.whl", X86, False),
        ("a-1-cp312-cp312-linux_x86_64.whl", X86, True),
        ("a-1-2-cp312-none-manylinux_2_28_x86_64.whl", X86, True),
        ("a-1.tar.gz", X86, False),
    ],
)
def test_what_a_target_can_install(name: str, target: Target, *, fits: bool) -> None:
    assert (fitness(name, target) is not None) is fits


def test_what_is_built_for_it_alone_is_better_and_a_later_build_best() -> None:
    names = [
        "a-1-py3-none-any.whl",
        "a-1-cp38-abi3-manylinux_2_17_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_17_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_28_x86_64.whl",
        "a-1-7-cp312-cp312-manylinux_2_28_x86_64.whl",
    ]
    ordered = sorted(set(names), key=lambda name: fitness(name, X86) or ())
    assert ordered == names


@pytest.mark.parametrize(
    ("marker", "here"),
    [
        ("python_full_version < '3.12'", False),
        ("python_full_version >= '3.12'", True),
        ("python_version == '3.12'", True),
        ("platform_machine == 'aarch64' and sys_platform == 'linux'", False),
        ("(platform_machine == 'aarch64' or platform_machine == 'x86_64') and sys_platform == 'linux'", True),
        ("implementation_name == 'pypy' or platform_python_implementation != 'PyPy'", True),
    ],
)
def test_markers_are_those_of_the_target(marker: str, *, here: bool) -> None:
    assert holds(marker, X86) is here


@pytest.mark.parametrize("marker", ["extra == 'x'", "platform_release > '5'", "__import__('os')", "sys_platform", "1"])
def test_a_marker_that_is_not_understood_is_never_guessed(marker: str) -> None:
    with pytest.raises(ValueError, match="not understood"):
        holds(marker, X86)


@pytest.mark.parametrize("name", environment_names())
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_lock_here_is_read_whole_and_every_pin_has_sums(name: str, machine: str) -> None:
    distribution, _, version = name.rpartition("-")
    wanted = load_environment(distribution, version)
    by_minor = {minor: read_pins(wanted.lock, Target(minor, machine, (2, 35))) for minor in wanted.python_minors}
    for pins in by_minor.values():
        assert len({pin.name for pin in pins}) == len(pins), "one version of each"
        assert all(pin.hashes for pin in pins)
    lines = sum(line[0].isalnum() for line in wanted.lock.splitlines() if line.strip())
    assert len({(pin.name, pin.version) for pins in by_minor.values() for pin in pins}) <= lines


@pytest.mark.parametrize("line", ["a>=1 --hash=sha256:00", "-e .", "a @ file:///x", "--index-url x"])
def test_a_line_that_is_no_pin_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not an exact"):
        read_pins(line, X86)
