from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from inventory.sshconfig import SshOptions, read
from inventory.transport.knownhosts import HostKey, record_of, refused

KEY = HostKey("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl")
OTHER = HostKey("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIPzKOUbWOKNGvq9zaAp9sJKqkYXbBVcNlHvR2XPMFMuS")


def line(name: str, key: HostKey = KEY) -> str:
    return f"{name} {key.type} {key.base64}\n"


def options(*files: Path, port: int = 22) -> SshOptions:
    answer = f"hostname 10.0.0.1\nuser me\nport {port}\n"
    return dataclasses.replace(read("tray1", (), answer), user_known_hosts_files=tuple(map(str, files)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known hosts"


def test_the_fingerprint_is_the_one_that_ssh_prints(file: Path) -> None:
    file.write_text(line("x"))
    printed = subprocess.run(["ssh-keygen", "-lf", file], capture_output=True, text=True, check=True).stdout
    assert KEY.fingerprint in printed
    assert str(KEY) == f"ssh-ed25519 {KEY.fingerprint}"


@pytest.mark.parametrize("names", ["10.0.0.1", "tray1,10.0.0.1", "10.0.0.*", "*,!10.0.0.2"])
def test_a_key_is_found_by_name_list_and_pattern(file: Path, names: str) -> None:
    file.write_text(line(names))
    assert record_of(options(file)).accepts(KEY)
    assert not record_of(options(file)).accepts(OTHER)


@pytest.mark.parametrize("names", ["10.0.0.2", "*,!10.0.0.1", "[10.0.0.1]:2222"])
def test_another_hosts_key_is_not_this_hosts(file: Path, names: str) -> None:
    file.write_text(line(names))
    assert record_of(options(file)).keys == ()


def test_a_hashed_name_is_found(file: Path) -> None:
    file.write_text(line("10.0.0.1"))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    assert "10.0.0.1" not in file.read_text()
    assert record_of(options(file)).keys == (KEY,)


def test_the_port_is_part_of_the_name(file: Path) -> None:
    file.write_text(line("10.0.0.1", OTHER) + line("[10.0.0.1]:2222"))
    assert record_of(options(file, port=2222)).keys == (KEY,)


def test_a_revoked_key_is_not_accepted_from_any_file(file: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    file.write_text(line("10.0.0.1") + line("10.0.0.1", OTHER))
    second.write_text("@revoked " + line("*"))
    record = record_of(options(file, second))
    assert not record.accepts(KEY)
    assert record.accepts(OTHER)


def test_an_authority_is_no_key_of_the_host(file: Path) -> None:
    file.write_text("@cert-authority " + line("10.0.0.1"))
    assert record_of(options(file)).keys == ()


def test_files_that_are_not_there_say_nothing(file: Path) -> None:
    record = record_of(options(file))
    assert (record.keys, record.files) == ((), ())


def test_an_unknown_key_and_a_changed_one_are_different_errors(file: Path) -> None:
    file.write_text("")
    unknown = refused(str(KEY), record_of(options(file)), "tray1", options(file))
    file.write_text(line("10.0.0.1", OTHER))
    changed = refused(str(KEY), record_of(options(file)), "tray1", options(file), hop=True)
    assert (unknown.id, changed.id) == ("host-key-unknown", "host-key-changed")
    assert str(file) in unknown.required
    assert OTHER.fingerprint in changed.required
    assert KEY.fingerprint in changed.observed
    assert changed.message.startswith("jump host tray1")
    assert unknown.next_command == changed.next_command == "invoke hosts.trust --hosts tray1"
