import re
from pathlib import Path

import pytest

from inventory.errors import BadInput, BringupError
from inventory.load import load
from inventory.schema import GroupEntry, HostEntry, InventoryFile, Mirrors, Settings
from inventory.sshclient import print_config

SHIPPED = Path(__file__).resolve().parents[3] / "inventory/hosts.yaml"


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


class TestShippedFile:
    """`inventory/hosts.yaml` is the documentation: what it shows must work."""

    def uncommented(self, tmp_path: Path) -> Path:
        lines = SHIPPED.read_text().splitlines()
        first = lines.index("# defaults:")
        examples = [line.removeprefix("# ") for line in lines[first:] if line.startswith("# ")]
        return write(tmp_path / "hosts.yaml", "\n".join(examples) + "\n")

    def test_as_it_ships_it_lists_nothing_and_every_host_works(self) -> None:
        inventory = load(SHIPPED)
        assert (inventory.hosts, inventory.groups, inventory.warnings) == ({}, {}, ())
        assert [host.name for host in inventory.resolve("tray1,local")] == ["tray1", "local"]

    def test_with_its_examples_it_loads_and_selects_what_it_says(self, tmp_path: Path) -> None:
        inventory = load(self.uncommented(tmp_path))
        selection = re.search(r"--hosts (\S+\[\S+)", SHIPPED.read_text())
        assert selection is not None
        names = [host.name for host in inventory.resolve(selection.group(1))]
        assert names == ["tray1", *(f"gpu{number:02}" for number in range(1, 17) if number != 7)]
        assert inventory.hosts["gpu01"].state_dir == "/scratch/bringup"
        assert inventory.hosts["tray2"].fabric_address == "10.20.0.12"
        assert inventory.warnings == ()

    def test_it_shows_every_key_of_the_schema(self, tmp_path: Path) -> None:
        text = self.uncommented(tmp_path).read_text()
        wanted = [*InventoryFile.model_fields, *Settings.model_fields, "address", "fabric_address", "children", "vars"]
        assert [key for key in wanted if not re.search(rf"^ *{key}:", text, re.MULTILINE)] == []


def test_the_reference_names_every_key() -> None:
    text = (SHIPPED.parents[1] / "docs/reference/inventory.md").read_text()
    wanted = {*InventoryFile.model_fields, *HostEntry.model_fields, *GroupEntry.model_fields, *Mirrors.model_fields}
    assert [key for key in sorted(wanted) if f"`{key}`" not in text] == []


class TestWhichFile:
    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_the_named_file_before_the_variable_before_the_usual_one(self, tmp_path: Path) -> None:
        named = write(tmp_path / "a.yaml", "hosts: {named: }")
        variable = {"BRINGUP_INVENTORY": str(write(tmp_path / "b.yaml", "hosts: {variable: }"))}
        write(tmp_path / "inventory/hosts.yaml", "hosts: {usual: }")
        assert list(load(named, variable).hosts) == ["named"]
        assert list(load(None, variable).hosts) == ["variable"]
        assert list(load(None, {}).hosts) == ["usual"]
        assert list(load(None, {"BRINGUP_INVENTORY": ""}).hosts) == ["usual"]

    def test_without_any_file_every_host_is_what_ssh_says(self) -> None:
        inventory = load(None, {})
        assert inventory.hosts == {}
        assert [host.name for host in inventory.resolve("tray[1-2]")] == ["tray1", "tray2"]

    @pytest.mark.parametrize("environment", [{}, {"BRINGUP_INVENTORY": "no.yaml"}])
    def test_a_named_file_must_be_there(self, environment: dict[str, str]) -> None:
        with pytest.raises(BadInput, match=r"no.yaml cannot be read"):
            load(None if environment else Path("no.yaml"), environment)


class TestWhoseFormat:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("h.yaml", "hosts: {tray1: }"),
            ("h.yml", "hosts: {tray1: }"),
            ("h.json", '{"hosts": {"tray1": {}}}'),
            ("hosts", "# ours\nhosts:\n  tray1:\n"),
            ("a.yaml", "all: {hosts: {tray1: }}"),
            ("b.yaml", "web: {hosts: {tray1: }}"),
            ("hosts.txt", "tray1\n"),
            ("hosts", "tray1 ansible_user=root\n"),
            ("hosts", "[web]\ntray1\n"),
            ("inventory.ini", "[web]\ntray1\n"),
            ("hosts", "# yaml\n---\nall:\n  hosts:\n    tray1:\n"),
        ],
    )
    def test_told_apart_by_content(self, tmp_path: Path, name: str, text: str) -> None:
        assert list(load(write(tmp_path / name, text)).hosts) == ["tray1"]

    def test_a_mistyped_key_of_ours_is_not_taken_for_an_ansible_group(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="unknown key hsots, did you mean hosts"):
            load(write(tmp_path / "h.yaml", "hsots: {tray1: }"))

    def test_a_folder_is_refused_with_the_way_out(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput) as caught:
            load(tmp_path)
        assert caught.value.next_command == f"ansible-inventory -i {tmp_path} --list --yaml --output hosts.yaml"

    def test_a_program_is_not_run(self, tmp_path: Path) -> None:
        program = write(tmp_path / "dynamic", f"#!/bin/sh\ntouch {tmp_path}/ran\n", 0o755)
        with pytest.raises(BadInput, match="cannot be read as an inventory"):
            load(program)
        assert not (tmp_path / "ran").exists()

    def test_broken_yaml_is_an_error_of_ours_with_its_place(self, tmp_path: Path) -> None:
        with pytest.raises(BringupError, match=r"h.yaml:1:8"):
            load(write(tmp_path / "h.yaml", "hosts: !x {}"))


def test_two_names_for_one_machine_are_pointed_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.yaml",
        "hosts:\n  a: {address: x, fabric_address: 10.0.0.1}\n  b: {address: x, fabric_address: 10.0.0.1}\n"
        "  c: {address: x, port: 2222}\n  local: {address: x}\n",
    )
    assert load(path).warnings == (
        f"{path}: a, b have the same fabric_address, 10.0.0.1",
        f"{path}: a, b have the same address and port, x",
    )


def test_a_host_of_ssh_config_is_no_slip_of_a_listed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = write(tmp_path / "config", "Host tray3\n  HostName 10.0.0.3\n")
    path = write(tmp_path / "h.yaml", "hosts: {tray1: }")
    monkeypatch.setattr("inventory.sshconfig.print_config", lambda name: print_config(name, ("-F", str(config))))
    assert load(path).resolve("tray3")[0].name == "tray3"
    with pytest.raises(BadInput, match="tray4 is not in the inventory, did you mean tray1"):
        load(path).resolve("tray4")
