import pytest

from inventory.ansible import ini
from inventory.errors import BringupError, ExitCode

TEXT = """
# a comment
; another
mail.example.com

[web]   # behind a section
www[01:02] ansible_user=deploy ansible_port=2222  # behind a host
"quoted name" x='a b' y="c=d"

[web:vars]
ansible_ssh_private_key_file = ~/.ssh/deploy
motd='hello; world'
empty=

[dc:children]
web
db

[db]
db-[a:b]
"""


def test_hosts_groups_and_variables() -> None:
    raw = ini.parse(TEXT, "hosts")
    assert raw.hosts["mail.example.com"] == {}
    assert raw.hosts["www02"] == {"ansible_user": "deploy", "ansible_port": "2222"}
    assert raw.hosts["quoted name"] == {"x": "a b", "y": "c=d"}
    assert raw.groups["ungrouped"].hosts == ["mail.example.com"]
    assert raw.groups["web"].vars == {
        "ansible_ssh_private_key_file": "~/.ssh/deploy",
        "motd": "hello; world",
        "empty": "",
    }
    assert raw.groups["dc"].children == ["web", "db"]
    assert raw.groups["db"].hosts == ["db-a", "db-b"]


@pytest.mark.parametrize(
    ("text", "message", "required"),
    [
        ("web x", "hosts:1:1: this is not an Ansible inventory line", "key=value"),
        ("\n\n[web", "hosts:3:1: this is not an Ansible inventory line", "[group:vars]"),
        ("[web:parents]\n", "this is not an Ansible inventory line", "[group:children]"),
        ("[a]\n[a:children]\nb c\n", "hosts:3:1", "one group a line"),
        ("[a]\n[a:vars]\nx\n", "hosts:3:1", "key=value"),
        ("web x='y\n", "this is not an Ansible inventory line", "quotes in pairs"),
        ("web[3:1]\n", "this is not an Ansible inventory line", "counts up"),
        ("[a:children]\nb\n", "hosts:2:1: the group b has no section of its own", "[b]"),
        ("[b:vars]\nx=1\n", "hosts:1:1: the group b has no section of its own", "[b]"),
    ],
)
def test_refusals_have_a_line(text: str, message: str, required: str) -> None:
    with pytest.raises(BringupError) as caught:
        ini.parse(text, "hosts")
    assert message in caught.value.message
    assert required in caught.value.required
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_all_wrong_lines_at_once_and_in_order() -> None:
    with pytest.raises(BringupError) as caught:
        ini.parse("[a:children]\nb\nweb x\n[c\n", "hosts")
    lines = [one.message.split(":")[1] for one in getattr(caught.value, "errors", ())]
    assert lines == ["2", "3", "4"]
