"""The field's own cases of host lists and ssh_config, where they lie beside the checkout."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from inventory import yamlfile
from inventory.errors import BadInput, Several
from inventory.schema import Host, Inventory
from inventory.sshconfig import effective

CASES = Path(__file__).resolve().parents[2] / "../shared/cases"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the field's cases are not beside this checkout")


def expected(case: str) -> list[dict[str, Any]]:
    data = yamlfile.read_plain(CASES / case / "case.yaml")
    assert isinstance(data, dict)
    return list(data["expect"])


def test_host_argument_forms() -> None:
    for one in expected("o45-hosts-string"):
        for text, names in one.get("parse", {}).items():
            assert [host.name for host in Inventory().resolve(text)] == names
        if one.get("severity") == "fail":
            with pytest.raises((BadInput, Several)):
                Inventory().resolve(one["input"])


def test_proxy_jump_none(tmp_path: Path) -> None:
    config = shutil.copy(CASES / "o18-proxyjump-none/ssh_config", tmp_path / "config")
    for name, wanted in expected("o18-proxyjump-none")[0]["resolve"].items():
        options = effective(Host(name=name, ssh_config=str(config)))
        jump = options.proxy_jump[0].host if options.proxy_jump else None
        assert {"hostname": options.hostname, "user": options.user, "jump": jump} == wanted
