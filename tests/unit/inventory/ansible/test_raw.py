import pytest

from inventory.ansible.raw import Raw, expand


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("web", ["web"]),
        ("web[1:3]", ["web1", "web2", "web3"]),
        ("web[01:03].x", ["web01.x", "web02.x", "web03.x"]),
        ("web[08:10]", ["web08", "web09", "web10"]),
        ("web[0:8:4]", ["web0", "web4", "web8"]),
        ("db-[a:c]", ["db-a", "db-b", "db-c"]),
        ("db-[A:E:2]", ["db-A", "db-C", "db-E"]),
        ("r[1:2]n[0:1]", ["r1n0", "r1n1", "r2n0", "r2n1"]),
    ],
)
def test_expansion(pattern: str, names: list[str]) -> None:
    assert expand(pattern) == names


@pytest.mark.parametrize(
    "pattern",
    ["web[3:1]", "web[]", "web[1]", "web[1-3]", "web[a:3]", "web[1:3", "web]", "web[1:3:0]", "web[01:100]", "w[1:5000]",
     "w[1:999999999]", "w[1:100][1:100]", "w[[1:2]]"],
)  # fmt: skip
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        expand(pattern)


@pytest.mark.parametrize(
    ("pattern", "name", "port"),
    [("web:2222", "web", 2222), ("[2001:db8::1]:23", "2001:db8::1", 23), ("web", "web", None)],
)
def test_a_port_behind_the_name(pattern: str, name: str, port: int | None) -> None:
    raw = Raw()
    raw.add("web", pattern, {"x": "1"})
    assert raw.hosts == {name: {"x": "1"} | ({"ansible_port": port} if port else {})}
    assert raw.groups["web"].hosts == [name]


def test_a_host_in_several_places_is_one_host() -> None:
    raw = Raw()
    raw.add("a", "web", {"x": "1", "y": "1"})
    raw.add("b", "web", {"y": "2"})
    raw.add("a", "web", {})
    assert raw.hosts == {"web": {"x": "1", "y": "2"}}
    assert raw.groups["a"].hosts == ["web"]


def test_hosts_are_bounded() -> None:
    raw = Raw()
    raw.add("a", "a[1:4000]", {})
    with pytest.raises(ValueError, match="at most 4096"):
        raw.add("a", "b[1:4000]", {})
