from collections.abc import Callable

import pytest

from inventory import names

OPTIONS = ("-oProxyCommand=touch x", "--", "-", "-l")
INJECTIONS = ("a b", "a;b", "a\nb", "a$(b)", "a`b`", "a'b", 'a"b', "a&b", "a|b", "a\0b", "a\tb", "")


@pytest.mark.parametrize("text", [*OPTIONS, *INJECTIONS, ".hidden", "all", "ALL", "a/b", "a%h", "a@b", "é", "x" * 254])
def test_what_no_host_is_called(text: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        names.host_name(text)


@pytest.mark.parametrize("text", ["tray1", "gpu-07.rack2.example.com", "10.0.0.5", "_x", "0", "allison"])
def test_host_names(text: str) -> None:
    assert names.host_name(text) == text


@pytest.mark.parametrize("check", [names.address, names.user, names.interface, names.file_path, names.jump])
@pytest.mark.parametrize("text", [*OPTIONS, "a\nb", "a\0b", ""])
def test_nothing_that_ssh_would_read_as_an_option(check: Callable[[str], str], text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        check(text)


@pytest.mark.parametrize("text", ["10.0.0.1", "::1", "fe80::1%eth0", "2001:db8::7", "tray1.example.com", "tray_1"])
def test_addresses(text: str) -> None:
    assert names.address(text) == text


@pytest.mark.parametrize("text", ["[::1]", "ops@tray1", "tray1:22", "fe80::1%a b", "fe80::1%$(x)", "a b", "a;b"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="without user, port or brackets"):
        names.address(text)


@pytest.mark.parametrize("text", ["tray1", "0.0.0.0", "::", "fe80::1%eth0", "10.0.0.0/24", "10.0.0"])  # noqa: S104
def test_ranks_advertise_a_literal_address(text: str) -> None:
    with pytest.raises(ValueError, match="an IP address"):
        names.fabric_address(text)


@pytest.mark.parametrize("text", ["ops", "DOMAIN\\ops", "ops@example.com", "a.b-c+d", "_apt"])
def test_users(text: str) -> None:
    assert names.user(text) == text


@pytest.mark.parametrize("text", ["ops\\", "a b", "a;b", "a$b", "a:b", "a/b"])
def test_what_is_no_user(text: str) -> None:
    with pytest.raises(ValueError, match="a login name"):
        names.user(text)


@pytest.mark.parametrize(
    ("text", "hops"),
    [
        ("none", ()),
        ("None", ()),
        ("bastion", (("", "bastion", None),)),
        ("ops@bastion:2222", (("ops", "bastion", 2222),)),
        ("a, b@c", (("", "a", None), ("b", "c", None))),
        ("ops@[2001:db8::1]:22", (("ops", "2001:db8::1", 22),)),
        ("ssh://ops@bastion:22/", (("ops", "bastion", 22),)),
    ],
)
def test_jump_hosts(text: str, hops: tuple[tuple[str, str, int | None], ...]) -> None:
    assert names.hops(text) == hops


@pytest.mark.parametrize("text", ["a,,b", "a,-b", "-o x", "a:0", "a:70000", "a:b", "x y", "a@-b", "a@", "a,"])
def test_what_is_no_jump_host(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        names.jump(text)


@pytest.mark.parametrize("number", [0, -1, 65536])
def test_ports_end(number: int) -> None:
    with pytest.raises(ValueError, match="1 to 65535"):
        names.port(number)


@pytest.mark.parametrize(
    "text", ["/var/lib/bringup", "/scratch/bringup", "/data", "/srv/a.b/c_d", "/tmp/x/", "/home/ops/.bringup", "/a/..b"]
)
def test_state_directories(text: str) -> None:
    assert names.state_dir(text) == text.rstrip("/")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "//",
        "/var",
        "/var/lib/",
        "/etc",
        "~/x",
        "x",
        "/a/../b",
        "/a b",
        "/a%h",
        "/a/./b",
        "/a/..",
        "/.",
        "/a//b",
        "/a:b",
        "/a\n",
    ],
)
def test_what_is_no_state_directory(text: str) -> None:
    with pytest.raises(ValueError, match="absolute path"):
        names.state_dir(text)


@pytest.mark.parametrize("text", ["https://a.example.com/simple", "http://u:p@[::1]:3128", "http://10.0.0.1/a?b=c"])
def test_urls(text: str) -> None:
    names.url(text)


@pytest.mark.parametrize(
    "text",
    ["a.example.com", "ftp://a", "http://", "http://a b", "http://a:99999", "http://[x", "http://a\nb", "http://a'"],
)
def test_what_is_no_url(text: str) -> None:
    with pytest.raises(ValueError, match="a URL"):
        names.url(text)


@pytest.mark.parametrize("text", ["registry.example.com:5000/vllm", "localhost:5000", "r.example.com"])
def test_registries(text: str) -> None:
    names.registry(text)


@pytest.mark.parametrize("text", ["https://r.example.com", "r/UPPER", "r r", "-r", "r:port", "r/../x y"])
def test_what_is_no_registry(text: str) -> None:
    with pytest.raises(ValueError, match="without https"):
        names.registry(text)


@pytest.mark.parametrize("text", ["HF_TOKEN", "my_password", "AWS_SECRET", "OPENAI_API_KEY", "APIKEY", "PGPASSWD"])
def test_no_secrets_in_files_that_are_shown_and_committed(text: str) -> None:
    with pytest.raises(ValueError, match="not a secret"):
        names.variable(text)


@pytest.mark.parametrize("text", ["NCCL_DEBUG", "HF_TOKEN_PATH", "_x", "SECRETARY"])
def test_variables(text: str) -> None:
    assert names.variable(text) == text


@pytest.mark.parametrize("text", ["1A", "A-B", "A B", "A=B", ""])
def test_what_is_no_variable(text: str) -> None:
    with pytest.raises(ValueError, match="a name"):
        names.variable(text)


def test_a_value_is_one_line() -> None:
    with pytest.raises(ValueError, match="one line"):
        names.variable_value("a\nLD_PRELOAD=x")
