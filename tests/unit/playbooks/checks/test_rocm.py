from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import NOT_ASKED
from inventory.facts.host import Device, Driver, Gpus, HostFacts, LaunchContext
from playbooks.checks import rocm_iommu, rocm_kfd, rocm_versions
from playbooks.checks.base import HostCheck
from playbooks.finding import Status
from tests.unit.playbooks.checks.cases import Case, assert_host, table
from tests.unit.playbooks.checks.gang import change, cpu_host, cpu_needs, gpu, tray, tray_needs

ALL = (rocm_kfd, rocm_versions, rocm_iommu)
KFD = Device("/dev/kfd", opens=True, group="render", gid=109, mode="crw-rw----")
RENDER = Device("/dev/dri/renderD128", opens=True, group="render", gid=109, mode="crw-rw----")
DENIED = replace(KFD, opens=False)
NEEDS = replace(tray_needs(), gpu_profile="mi355x", gpu_runtime=None)


def server(*devices: Device, where: Any = "systemd-unit", **facts: Any) -> HostFacts:  # noqa: ANN401
    gpus = tuple(replace(gpu(n, "tray1"), name="AMD Instinct MI355X", compute_capability="gfx950") for n in range(4))
    context = LaunchContext(where, user="serve", uid=1000, groups=(1000, 44), devices=devices or (KFD, RENDER))
    told: dict[str, Any] = {
        "gpus": Gpus("amd", "6.12.12", None, gpus, simulated=False),
        "context": context,
        "driver": Driver(amdgpu="6.12.12", rocm="7.0.2"),
        "boot_arguments": "quiet iommu=pt",
    }
    return replace(tray(), **(told | facts))


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.ID)
def test_a_healthy_server_passes(check: HostCheck) -> None:
    assert check.check(server(), NEEDS).status is Status.PASS


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.ID)
def test_others_are_skipped(check: HostCheck) -> None:
    assert check.check(tray(), tray_needs()).status is Status.SKIP
    assert check.check(cpu_host(), cpu_needs()).status is Status.SKIP


@table(
    Case("denied", Status.FAIL, server(DENIED, RENDER), NEEDS, says=("/dev/kfd", "109", "usermod -aG render serve")),
    Case("in a container", Status.FAIL, server(DENIED, where="container"), NEEDS, says=("--group-add 109",)),
    Case("a render node", Status.FAIL, server(KFD, replace(RENDER, opens=False)), NEEDS, says=("renderD128",)),
    Case("not there", Status.FAIL, server(RENDER), NEEDS, says=("no /dev/kfd",)),
    Case("nobody looked", Status.UNKNOWN, server(context=NOT_ASKED), NEEDS),
    Case("nobody looked at devices", Status.UNKNOWN, server(context=LaunchContext("login")), NEEDS),
    Case("simulated", Status.SKIP, server(context=NOT_ASKED, simulated=True), NEEDS),
    Case("the tool is silent, the device is there", Status.FAIL, server(DENIED, gpus=NOT_ASKED), NEEDS),
)
def test_kfd(case: Case) -> None:
    assert_host(rocm_kfd, case)


def versions(amdgpu: str | None, rocm: str | None) -> HostFacts:
    return server(driver=Driver(amdgpu=amdgpu, rocm=rocm))


@table(
    Case("two releases newer", Status.PASS, versions("6.10.5", "7.0.1"), NEEDS),
    Case("three releases newer", Status.WARN, versions("6.10.5", "7.1.0"), NEEDS, says=("6.10.5", "ROCm up to 7.0")),
    Case("older", Status.PASS, versions("6.14.14", "6.2.0"), NEEDS),
    Case("what the build is for counts", Status.WARN, versions("6.8.5", "6.2.0"), replace(NEEDS, gpu_runtime="7.2")),
    Case("the kernel's own driver", Status.SKIP, versions(None, "7.0.0"), NEEDS),
    Case("a driver that no table knows", Status.SKIP, versions("9.9.9", "7.0.0"), NEEDS, says=("9.9.9",)),
    Case("no ROCm on the host", Status.SKIP, versions("6.12.12", None), NEEDS),
)
def test_versions(case: Case) -> None:
    assert_host(rocm_versions, case)


@table(
    Case("not passed through", Status.WARN, server(boot_arguments="quiet"), NEEDS, says=("iommu=pt",)),
    Case("off", Status.PASS, server(boot_arguments="amd_iommu=off"), NEEDS),
    Case("a virtual machine", Status.SKIP, change(server(boot_arguments=""), "system", hypervisor="KVM"), NEEDS),
    Case("not told", Status.SKIP, server(boot_arguments=NOT_ASKED), NEEDS),
)
def test_iommu(case: Case) -> None:
    assert_host(rocm_iommu, case)
