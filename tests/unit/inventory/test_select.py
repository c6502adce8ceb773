from collections.abc import Iterable

import pytest

from inventory.errors import BadInput, BringupError, ExitCode, Several
from inventory.select import Listed, select

HOSTS = ("tray1", "tray2", *(f"gpu{number:02}" for number in range(1, 17)), "db")
GROUPS = {"rack1": ("tray1", "tray2"), "rack2": HOSTS[2:18], "empty": ()}
KNOWN_TO_SSH = ("tray9", "build")


def listed(hosts: Iterable[str] = HOSTS) -> Listed:
    return Listed(tuple(hosts), GROUPS, KNOWN_TO_SSH.__contains__, "edit it")


def refusal(text: str, what: Listed | None = None) -> BringupError:
    with pytest.raises(BringupError) as caught:
        select(text, what or listed())
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    return caught.value


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tray1", ["tray1"]),
        ("tray2,tray1", ["tray2", "tray1"]),
        ("tray1 tray2", ["tray1", "tray2"]),
        ("tray1, tray2,", ["tray1", "tray2"]),
        (" tray1\n\ttray2 ", ["tray1", "tray2"]),
        ("gpu[03-04],tray1", ["gpu03", "gpu04", "tray1"]),
        ("gpu[01, 03]", ["gpu01", "gpu03"]),
        ("gpu[02-03],gpu[01-03]", ["gpu02", "gpu03", "gpu01"]),
        ("@rack1", ["tray1", "tray2"]),
        ("@rack[1-2],!gpu[02-16]", ["tray1", "tray2", "gpu01"]),
        ("tray2,@rack1", ["tray2", "tray1"]),
        ("!tray1,@rack1", ["tray2"]),
        ("all,!@rack2", ["tray1", "tray2", "db"]),
        ("@all,!@rack[1-2]", ["db"]),
        ("@empty,db", ["db"]),
        ("local", ["local"]),
        ("localhost,tray1", ["localhost", "tray1"]),
        ("tray1,gpu[01-02],@rack1,!gpu02", ["tray1", "gpu01", "tray2"]),
        ("tray1,!gpu07", ["tray1"]),
    ],
)
def test_selections(text: str, names: list[str]) -> None:
    assert list(select(text, listed())) == names


def test_all_is_every_host_in_the_inventorys_order() -> None:
    assert select("all", listed()) == HOSTS


@pytest.mark.parametrize(
    ("text", "message", "required"),
    [
        ("", "no hosts are selected", "hosts, such as"),
        (" , ", "no hosts are selected", "hosts, such as"),
        (",tray1", "empty", "one comma"),
        ("tray1,,tray2", "empty", "one comma"),
        ("tray1, ,tray2", "empty", "one comma"),
        ("tray1,tray1", "tray1 stands twice", "every item once"),
        ("@rack1,tray1,@rack1", "@rack1 stands twice", "every item once"),
        ("!tray1", "only excludes", "all,!tray1"),
        ("tray1,!tray1", "no host", "at least one"),
        ("@empty", "no host", "at least one"),
        ("all,!all", "no host", "at least one"),
        ("--help", "--help is an option", "hosts"),
        ("tray1,-oProxyCommand=x", "is an option", "hosts"),
        ("root@tray1", "not a host name", "user in the inventory or ssh_config"),
        ("gpu[16-01]", "cannot be selected", "counts up"),
        ("gpu[1-99999]", "cannot be selected", "at most 4096"),
        ("gpu[01-02", "cannot be selected", "brackets in pairs"),
        ("tray1;reboot", "cannot be selected", "letters, digits"),
        ("('t',", "cannot be selected", "letters, digits"),
        ("@rakc2", "there is no group rakc2, did you mean @rack2?", "@rack1, @rack2, @empty"),
        ("@tray1", "tray1 is a host, without @", "@rack1"),
        ("rack2", "rack2 is a group", "@rack2"),
        ("@", "cannot be selected", "letters"),
        ("tray1,!", "cannot be selected", "letters"),
        ("a\0b", "unprintable", "names"),
        ("tray1\x1b[31m", "unprintable", "names"),
        ("x," * 40000, "too long", "at most"),
        ("tray3", "did you mean tray", "ssh_config names"),
        ("gpu17", "did you mean gpu", "ssh_config names"),
        ("TRAY1", "did you mean tray1?", "ssh_config names"),
        ("t,r,a,y", "t is not in the inventory", "ssh_config names"),
        ("@rack2,!gpu99", "!gpu99 excludes gpu99, which is not there", "an exclusion of a selected"),
    ],
)
def test_refusals(text: str, message: str, required: str) -> None:
    error = refusal(text)
    first = error.errors[0] if isinstance(error, Several) else error
    assert message in first.message
    assert required in first.required
    assert first.next_command
    assert first.id == "host-selection"


def test_a_name_that_ssh_config_lists_is_no_slip() -> None:
    assert select("tray9", listed()) == ("tray9",)


def test_a_name_unlike_any_listed_one_is_left_to_ssh() -> None:
    assert select("somewhere.example.com", listed()) == ("somewhere.example.com",)


def test_without_an_inventory_every_name_is_left_to_ssh() -> None:
    assert select("tray[1-2],a", Listed((), {}, lambda _: False)) == ("tray1", "tray2", "a")


def test_where_only_listed_hosts_count_ssh_is_not_asked() -> None:
    assert "somewhere is not in the inventory" in str(refusal("somewhere", Listed(HOSTS, {})))


def test_all_of_an_empty_inventory_is_nothing() -> None:
    error = refusal("all", Listed((), {}, lambda _: False, "edit it"))
    assert (error.message, error.next_command) == ("the inventory lists no hosts", "edit it")


def test_an_unknown_group_without_any_group() -> None:
    assert refusal("@rack2", Listed(HOSTS, {})).required == "no @: there are no groups"


def test_all_errors_come_at_once() -> None:
    error = refusal("@rakc1,gpu[2-1],tray3,tray1,!gpu99")
    assert isinstance(error, Several)
    assert [one.observed for one in error.errors] == ["@rakc1", "gpu[2-1]", "tray3", "!gpu99"]


def test_many_unknown_hosts_are_one_error_and_quick() -> None:
    many = Listed(tuple(f"node{number}" for number in range(4096)), {}, lambda _: False)
    error = refusal("noed[1-4000]", many)
    assert isinstance(error, BadInput)
    assert error.observed == "noed1 to noed4000"


def test_the_sum_of_all_items_is_bounded() -> None:
    error = refusal(",".join(f"a{number}x[1-4000]" for number in range(3)), Listed((), {}, lambda _: False))
    assert error.required == "at most 4096 hosts"
