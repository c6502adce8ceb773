"""Against the real `ssh -G`, with ssh_config files of the tests' own."""

import os
import pwd
import time
from pathlib import Path

import pytest

from inventory import sshclient
from inventory.errors import BadInput
from inventory.schema import Host
from inventory.sshconfig import Hop, SshOptions, arguments_of, ask, effective, read, route, ssh_mentions

HOME = pwd.getpwuid(os.getuid()).pw_dir


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "included").write_text("Host from-include\n  HostName 10.9.9.9\n")
    path = tmp_path / "config"
    path.write_text(f"""
Include {tmp_path}/included
Host tray1
  HostName 10.10.0.11
  ProxyJump none
Host tray2
  HostName 10.10.0.12
  Port 2222
  HostKeyAlias tray-two
  StrictHostKeyChecking accept-new
  UserKnownHostsFile ~/.ssh/lab "{tmp_path}/my hosts"
  GlobalKnownHostsFile none
  IdentityFile "{tmp_path}/my key"
  IdentityFile ~/.ssh/%n_%h_%r_%p
  IdentityAgent none
  ConnectTimeout 7
Host chained
  ProxyJump ops@[2001:db8::1]:2200,inner
Match host matched exec "true"
  User from-exec
Match user admin
  IdentityFile {tmp_path}/root-key
Host inner
  User insider
Host loop-a
  ProxyJump loop-b
Host loop-b
  ProxyJump loop-a
Host bastion
  User jumper
  ProxyJump none
Host *.direct
  ProxyJump none
Host *
  User ops
  ProxyJump bastion
""")
    return path


def options(config: Path, name: str, **said: object) -> SshOptions:
    return effective(Host.model_validate({"name": name, "ssh_config": str(config), **said}))


def test_proxy_jump_none_switches_the_jump_off(config: Path) -> None:
    one = options(config, "tray1")
    assert (one.hostname, one.user, one.proxy_jump) == ("10.10.0.11", "ops", ())
    assert options(config, "other").proxy_jump == (Hop("bastion"),)


def test_include_and_match_exec_are_followed(config: Path) -> None:
    assert options(config, "from-include").hostname == "10.9.9.9"
    assert options(config, "matched").user == "from-exec"


def test_everything_that_a_host_can_say(config: Path, tmp_path: Path) -> None:
    two = options(config, "tray2")
    assert (two.hostname, two.port, two.host_key_alias, two.host_key_name) == (
        "10.10.0.12",
        2222,
        "tray-two",
        "tray-two",
    )
    assert two.strict_host_key_checking == "accept-new"
    assert two.user_known_hosts_files == (f"{HOME}/.ssh/lab", f"{tmp_path}/my hosts")
    assert two.global_known_hosts_files == ()
    assert two.identity_files == (f"{tmp_path}/my key", f"{HOME}/.ssh/tray2_10.10.0.12_ops_2222")
    assert (two.identity_agent, two.connect_timeout) == ("none", 7)


def test_what_nobody_says_is_what_ssh_does(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    one = options(empty, "plain.example.com")
    assert (one.hostname, one.user, one.port) == ("plain.example.com", pwd.getpwuid(os.getuid()).pw_name, 22)
    assert one.user_known_hosts_files[0] == f"{HOME}/.ssh/known_hosts"
    assert f"{HOME}/.ssh/id_ed25519" in one.identity_files
    assert (one.identities_only, one.identity_agent, one.proxy_command, one.connect_timeout) == (
        False,
        None,
        None,
        None,
    )
    assert (one.strict_host_key_checking, one.needs_openssh) == ("ask", ())
    assert one.host_key_name == "plain.example.com"


def test_host_keys_of_another_port_have_another_name(config: Path) -> None:
    assert options(config, "x", port=2201).host_key_name == "[x]:2201"


def test_the_inventory_counts_more_and_match_blocks_see_it(config: Path, tmp_path: Path) -> None:
    key = tmp_path / "given"
    key.write_text("x")
    one = options(config, "tray2", user="admin", port=23, identity_file=str(key), jump="deploy@gate:24")
    assert (one.user, one.port, one.proxy_jump) == ("admin", 23, (Hop("gate", "deploy", 24),))
    assert one.identities_only
    assert one.identity_files[0] == str(key)
    assert f"{tmp_path}/root-key" in one.identity_files


def test_a_jump_of_ssh_config_can_be_switched_off(config: Path) -> None:
    assert options(config, "other", jump="none").proxy_jump == ()


def test_ssh_is_asked_for_the_address(config: Path) -> None:
    assert options(config, "a-tray", address="tray1").hostname == "10.10.0.11"
    assert options(config, "a-tray", address="2001:db8::5").hostname == "2001:db8::5"


def test_the_arguments_make_the_client_come_to_the_same(config: Path) -> None:
    one = options(config, "tray2", user="root")
    assert ask(one.target, one.arguments) == one
    assert arguments_of(Host(name="tray2")) == ()


def test_the_route_is_every_jump_host_with_its_own_options(config: Path) -> None:
    outer, first, second = route(options(config, "chained"))
    assert (outer.hostname, outer.user) == ("bastion", "jumper")  # the first hop's own, by Host *
    assert (first.hostname, first.user, first.port) == ("2001:db8::1", "ops", 2200)
    assert (second.hostname, second.user) == ("inner", "insider")


def test_the_first_hop_follows_its_own_jump_and_the_next_do_not(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host a\n  ProxyJump b,c\nHost b\n  ProxyJump outer\nHost c\n  ProxyJump elsewhere\n")
    assert [hop.hostname for hop in route(options(path, "a"))] == ["outer", "b", "c"]


def test_no_jump_no_route(config: Path) -> None:
    assert route(options(config, "tray1")) == ()


def test_jump_hosts_in_a_circle_are_refused(config: Path) -> None:
    with pytest.raises(BadInput, match="go round in circles") as caught:
        route(options(config, "loop-a"))
    assert caught.value.observed.startswith("loop-a via loop-b via loop-a")


@pytest.mark.parametrize("setting", ["identity_file", "ssh_config"])
def test_a_named_file_must_be_there(tmp_path: Path, setting: str) -> None:
    with pytest.raises(BadInput, match=f"the {setting} of a is not there") as caught:
        effective(Host.model_validate({"name": "a", setting: f"{tmp_path}/no such file"}))
    assert caught.value.next_command == f"ls -l '{tmp_path}/no such file'"


def test_a_config_that_ssh_refuses_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host a\n  Prot 22\n")
    with pytest.raises(BadInput, match="ssh refuses its configuration for a") as caught:
        options(path, "a")
    assert "Bad configuration option: prot" in caught.value.observed
    assert caught.value.next_command == f"ssh -T -F {path} -G -- a"


def test_a_match_exec_that_hangs_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pid_file = tmp_path / "config", tmp_path / "pid"
    path.write_text(f'Match exec "echo $$ >{pid_file}; exec sleep 600"\n  User x\n')
    monkeypatch.setattr(sshclient, "DEADLINE_S", 1.0)
    started = time.monotonic()
    with pytest.raises(BadInput, match="refuses") as caught:
        options(path, "a")
    assert caught.value.observed == "no answer in 1 s"
    assert time.monotonic() - started < 10
    _gone(int(pid_file.read_text()))


def _gone(pid: int) -> None:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the program of Match exec outlived ssh")


def test_without_an_ssh_client_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="no ssh client") as caught:
        effective(Host(name="a"))
    assert caught.value.next_command == "sudo apt-get install openssh-client"


@pytest.mark.parametrize("name", ["tray1", "from-include", "x.direct", "inner"])
def test_names_that_ssh_config_knows(config: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = sshclient.print_config
    monkeypatch.setattr("inventory.sshconfig.print_config", lambda one: plain(one, ("-F", str(config))))
    assert ssh_mentions(name)


@pytest.mark.parametrize("name", ["tray3", "plain.example.com", "10.0.0.7"])
def test_what_is_said_of_every_host_is_no_mention(config: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = sshclient.print_config
    monkeypatch.setattr("inventory.sshconfig.print_config", lambda one: plain(one, ("-F", str(config))))
    assert not ssh_mentions(name)


@pytest.mark.parametrize("answer", ["", "port", "garbage\n\n", "user\nhostname\nproxyjump none\nproxycommand none\n"])
def test_an_answer_that_says_little(answer: str) -> None:
    one = read("a", (), answer)
    assert (one.hostname, one.port, one.proxy_jump, one.proxy_command) == ("a", 22, (), None)
