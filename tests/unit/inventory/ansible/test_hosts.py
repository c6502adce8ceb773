from pathlib import Path

import pytest

from inventory.ansible.hosts import Translator
from inventory.errors import BadInput
from inventory.schema import Host
from inventory.yamlfile import Tagged

SOURCE = Path("/etc/ansible/hosts")


def host(**variables: object) -> Host:
    return Translator(SOURCE).host("web", variables)


def test_without_variables_everything_is_what_ssh_says() -> None:
    assert host(unrelated="{{ x }}", other=Tagged("!vault", "x")) == Host(name="web")


@pytest.mark.parametrize(
    ("variables", "setting", "value"),
    [
        ({"ansible_host": "10.0.0.1"}, "address", "10.0.0.1"),
        ({"ansible_ssh_host": "10.0.0.1"}, "address", "10.0.0.1"),
        ({"ansible_host": Tagged("!unsafe", "10.0.0.1")}, "address", "10.0.0.1"),
        ({"ansible_port": 2222}, "port", 2222),
        ({"ansible_port": "2222"}, "port", 2222),
        ({"ansible_ssh_port": 2222}, "port", 2222),
        ({"ansible_user": "ops"}, "user", "ops"),
        ({"ansible_user": 7}, "user", "7"),
        ({"ansible_user": None, "ansible_ssh_user": "ops"}, "user", "ops"),
        ({"ansible_ssh_private_key_file": "~/.ssh/id"}, "identity_file", "~/.ssh/id"),
        ({"ansible_private_key_file": "keys/id"}, "identity_file", "/etc/ansible/keys/id"),
        ({"ansible_connection": "local"}, "transport", "local"),
        ({"ansible_connection": "ansible.builtin.ssh"}, "transport", "auto"),
        ({"ansible_connection": "smart"}, "transport", "auto"),
        ({"ansible_ssh_common_args": "-J ops@bastion"}, "jump", "ops@bastion"),
        ({"ansible_ssh_extra_args": "-o ProxyJump=b"}, "jump", "b"),
        ({"ansible_ssh_common_args": "-p 23", "ansible_port": 24}, "port", 24),
        ({"bringup_fabric_address": "10.1.0.1"}, "fabric_address", "10.1.0.1"),
        ({"bringup_state_dir": "/scratch/bringup"}, "state_dir", "/scratch/bringup"),
        ({"bringup_transport": "openssh"}, "transport", "openssh"),
    ],
)
def test_what_variables_say(variables: dict[str, object], setting: str, value: object) -> None:
    assert getattr(host(**variables), setting) == value


@pytest.mark.parametrize(
    ("variables", "message", "observed", "required"),
    [
        (
            {"ansible_host": "{{ lookup('x') }}"},
            "ansible_host",
            "the template {{ lookup",
            "templates are not evaluated",
        ),
        ({"ansible_user": "{% if x %}a{% endif %}"}, "ansible_user", "the template", "templates"),
        ({"ansible_host": Tagged("!vault", "$ANSIBLE_VAULT;1.1")}, "ansible_host", "the tag !vault", "a plain value"),
        ({"ansible_user": "$ANSIBLE_VAULT;1.1;AES256"}, "ansible_user", "an encrypted value", "a plain value"),
        ({"ansible_host": ["a"]}, "ansible_host", "list", "text or a number"),
        ({"ansible_user": True}, "ansible_user", "bool", "text or a number"),
        ({"ansible_connection": "winrm"}, "ansible_connection", "winrm", "ssh, smart"),
        ({"ansible_port": "abc"}, "ansible_port", "abc", "1 to 65535"),
        ({"ansible_port": 70000}, "ansible_port", "70000", "1 to 65535"),
        ({"ansible_host": "-oProxyCommand=x"}, "ansible_host", "-oProxyCommand=x", "a host name or an IP address"),
        ({"ansible_ssh_user": "a b"}, "ansible_ssh_user", "a b", "a login name"),
        ({"ansible_ssh_common_args": "-J 'a b'"}, "ansible_ssh_common_args", "a b", "a host name"),
        ({"ansible_ssh_common_args": "-o ProxyCommand='nc %h %p'"}, "ansible_ssh_common_args", "nc", "ProxyJump, or"),
        ({"bringup_state_dir": "/etc"}, "bringup_state_dir", "/etc", "an absolute path"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    variables: dict[str, object], message: str, observed: str, required: str
) -> None:
    with pytest.raises(BadInput) as caught:
        host(**variables)
    error = caught.value
    assert error.message == f"{message} of this host in /etc/ansible/hosts cannot be used"
    assert observed in error.observed
    assert required in error.required
    assert (error.host, error.next_command) == ("web", "ansible-inventory -i /etc/ansible/hosts --host web")


def test_a_password_in_a_proxy_is_not_shown() -> None:
    with pytest.raises(BadInput) as caught:
        host(bringup_proxy="ftp://ops:hunter2@x")
    assert "hunter2" not in str(caught.value)


def test_a_name_that_cannot_be_selected() -> None:
    with pytest.raises(BadInput, match="name of this host"):
        Translator(SOURCE).host("2001:db8::1", {})


def test_passwords_are_not_read_and_that_is_said() -> None:
    translator = Translator(SOURCE)
    for name in ("a", "b"):
        translator.host(name, {"ansible_password": Tagged("!vault", "x"), "ansible_become_pass": "{{ y }}"})
    assert translator.notes == {"passwords are not used: keys log in, and sudo must not ask": ["a", "b"]}


def test_ssh_arguments_that_are_not_used_are_told() -> None:
    translator = Translator(SOURCE)
    translator.host("a", {"ansible_ssh_common_args": "-o StrictHostKeyChecking=no"})
    assert list(translator.notes) == ["the ssh argument -o StrictHostKeyChecking=no is not used; ssh_config can say it"]


def test_a_name_with_control_characters_does_not_reach_the_terminal() -> None:
    with pytest.raises(BadInput) as caught:
        Translator(SOURCE).host("a\0\x1b[31m", {})
    assert "\x1b" not in str(caught.value)
