import pytest
from pydantic import ValidationError

from inventory.errors import BadInput
from inventory.schema import GroupEntry, Host, HostEntry, Inventory, Mirrors, Settings, make_host
from inventory.secret import Url


def test_a_name_is_enough() -> None:
    host = Host(name="tray1")
    assert (host.address, host.transport, host.state_dir) == ("tray1", "auto", "/var/lib/bringup")
    assert (host.user, host.port, host.jump, host.fabric_address) == (None, None, None, None)


def test_an_address_is_kept_apart_from_the_name() -> None:
    assert Host(name="tray1", address="10.0.0.1").address == "10.0.0.1"


@pytest.mark.parametrize("name", ["local", "localhost"])
def test_this_machine_has_a_name(name: str) -> None:
    assert Host(name=name).transport == "local"
    assert Host(name=name, transport="ssh").transport == "ssh"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "-oProxyCommand=x"},
        {"name": "a", "address": "-oProxyCommand=x"},
        {"name": "a", "user": "-l"},
        {"name": "a", "port": 0},
        {"name": "a", "jump": "b,-oProxyCommand=x"},
        {"name": "a", "identity_file": "-x"},
        {"name": "a", "ssh_config": "relative"},
        {"name": "a", "transport": "telnet"},
        {"name": "a", "fabric_address": "tray1"},
        {"name": "a", "fabric_interface": "eth0;x"},
        {"name": "a", "state_dir": "relative"},
        {"name": "a", "proxy": "proxy"},
        {"name": "a", "env": (("A B", "x"),)},
        {"name": "a", "env": (("A", "x\ny"),)},
        {"name": "a", "prot": 22},
    ],
)
def test_no_host_holds_what_ssh_or_a_shell_could_misread(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Host.model_validate(wrong)


def test_a_refused_host_does_not_quote_what_it_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Host.model_validate({"name": "a", "proxy": "ftp://ops:hunter2@x"})
    assert "hunter2" not in str(caught.value)


def test_a_host_cannot_change_and_can_be_a_key() -> None:
    host = Host(name="a", env=(("A", "1"),), proxy=Url("http://u:p@x"))
    assert len({host, Host(name="a", env=(("A", "1"),), proxy=Url("http://u:p@x"))}) == 1
    with pytest.raises(ValidationError):
        setattr(host, "user", "x")  # noqa: B010  (a type checker refuses the plain form)


def test_later_layers_count_more_and_tables_are_merged_key_by_key() -> None:
    defaults = Settings(
        user="ops", port=22, env={"A": "1", "B": "1"}, mirrors=Mirrors(pypi=Url("http://a"), hub=Url("http://b"))
    )
    group = Settings(user="root", env={"B": "2"}, mirrors=Mirrors(hub=Url("http://c")))
    host = make_host("tray1", defaults, group, HostEntry(address="10.0.0.1", user=None))
    assert (host.user, host.port, host.address) == ("root", 22, "10.0.0.1")
    assert host.env == (("A", "1"), ("B", "2"))
    assert (str(host.mirrors.pypi), str(host.mirrors.hub)) == ("http://a", "http://c")


def test_defaults_do_not_send_this_machine_through_ssh() -> None:
    assert make_host("local", Settings(transport="openssh")).transport == "local"
    assert make_host("local", Settings(), HostEntry(transport="openssh")).transport == "openssh"


def test_groups_take_a_selection_or_several() -> None:
    assert GroupEntry(hosts="a,b").hosts == "a,b"
    assert GroupEntry(hosts=("a", "b")).hosts == ("a", "b")


class TestResolve:
    inventory = Inventory(
        hosts={"tray1": Host(name="tray1", user="ops")},
        groups={"rack": ("tray1", "vaulted")},
        defaults=Settings(state_dir="/scratch/bringup"),
        refused={"vaulted": BadInput("ansible_host is encrypted", id="ansible-inventory", host="vaulted")},
    )

    def test_listed_hosts_are_what_the_inventory_says(self) -> None:
        assert self.inventory.resolve("tray1")[0].user == "ops"

    def test_other_hosts_are_what_ssh_says_with_the_defaults(self) -> None:
        assert self.inventory.resolve("elsewhere") == (Host(name="elsewhere", state_dir="/scratch/bringup"),)
        assert self.inventory.resolve("local")[0].transport == "local"

    def test_a_host_that_cannot_be_used_is_refused_only_when_selected(self) -> None:
        assert self.inventory.resolve("@rack,!vaulted")[0].name == "tray1"
        with pytest.raises(BadInput, match="encrypted"):
            self.inventory.resolve("@rack")

    def test_nothing_at_all(self) -> None:
        with pytest.raises(BadInput, match="no hosts"):
            Inventory().resolve("")
