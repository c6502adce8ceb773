import pytest

from inventory.ansible import sshargs


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("", {}),
        ("-J ops@bastion:22", {"jump": "ops@bastion:22"}),
        ("-Jbastion", {"jump": "bastion"}),
        ("-o ProxyJump=a,b", {"jump": "a,b"}),
        ("-oProxyJump=a", {"jump": "a"}),
        ("-o 'ProxyJump a'", {"jump": "a"}),
        ("-o proxyjump=none", {"jump": "none"}),
        ('-o ProxyCommand="ssh -W %h:%p -q ops@bastion"', {"jump": "ops@bastion"}),
        ('-o ProxyCommand="ssh -p 2222 -l ops -W %h:%p bastion"', {"jump": "ops@bastion:2222"}),
        ("-o ProxyCommand=none", {"jump": "none"}),
        ("-F /x/config -i ~/.ssh/id", {"ssh_config": "/x/config", "identity_file": "~/.ssh/id"}),
        ("-p 23 -l ops", {"port": "23", "user": "ops"}),
        ('-o User=ops -o Port=23 -o IdentityFile="/a b"', {"user": "ops", "port": "23", "identity_file": "/a b"}),
        ("-C -o ControlMaster=auto -o ControlPersist=60s -q -4 -o ConnectTimeout=5", {}),
    ],
)  # fmt: skip
def test_the_way_to_a_host(text: str, reach: dict[str, str]) -> None:
    assert sshargs.read(text) == (reach, ())


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("-o StrictHostKeyChecking=no", ("-o StrictHostKeyChecking=no",)),
        ("-o UserKnownHostsFile=/dev/null -J b", ("-o UserKnownHostsFile=/dev/null",)),
        ("-L 1:2:3 -D 9", ("-L", "-D")),
        ("--weird", ("--weird",)),
        ("-o nonsense", ("-o nonsense",)),
        ("-o", ("-o ",)),
    ],
)
def test_what_is_not_used_is_told(text: str, unused: tuple[str, ...]) -> None:
    assert sshargs.read(text)[1] == unused


@pytest.mark.parametrize(
    "text",
    [
        '-o ProxyCommand="nc %h %p"',
        '-o ProxyCommand="ssh bastion nc %h %p"',
        '-o ProxyCommand="ssh -W %h:%p -i key bastion"',
        '-o ProxyCommand="ssh -W %h:%p"',
        '-o ProxyCommand=""',
        "-o 'unbalanced",
    ],
)
def test_what_cannot_be_followed(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        sshargs.read(text)
