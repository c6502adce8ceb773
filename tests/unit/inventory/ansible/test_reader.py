from pathlib import Path

import pytest

from inventory.errors import BadInput, BringupError
from inventory.load import load
from inventory.schema import Inventory

INI = """
mail
[web]
w1
w2 ansible_user=own
[dc:children]
web
[web:vars]
ansible_user=web
[dc:vars]
ansible_user=dc
ansible_port=2222
[all:vars]
ansible_user=everybody
ansible_ssh_private_key_file=~/.ssh/all
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hosts").write_text(INI)
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "host_vars").mkdir()
    return tmp_path


def read(folder: Path, text: str | None = None) -> Inventory:
    if text is not None:
        (folder / "hosts").write_text(text)
    return load(folder / "hosts")


def test_inner_groups_over_outer_over_all_and_the_host_over_them(folder: Path) -> None:
    hosts = read(folder).hosts
    assert {name: host.user for name, host in hosts.items()} == {"mail": "everybody", "w1": "web", "w2": "own"}
    assert hosts["w1"].port == 2222
    assert hosts["mail"].identity_file == "~/.ssh/all"


def test_group_vars_count_more_than_any_group_of_the_file_and_less_than_the_host(folder: Path) -> None:
    (folder / "group_vars/all.yml").write_text("ansible_user: from-all\nansible_port: 1\n")
    (folder / "group_vars/dc").write_text("ansible_port: 2\n")
    hosts = read(folder).hosts
    assert (hosts["w1"].user, hosts["w1"].port) == ("from-all", 2)
    assert (hosts["mail"].user, hosts["mail"].port) == ("from-all", 1)
    assert hosts["w2"].user == "own"


def test_host_vars_count_most_and_may_be_several_files(folder: Path) -> None:
    (folder / "host_vars/w2").mkdir()
    (folder / "host_vars/w2/a.yml").write_text("ansible_user: a\nansible_host: 10.0.0.1\n")
    (folder / "host_vars/w2/b.yaml").write_text("ansible_user: b\n")
    (folder / "host_vars/w2/.hidden.yml").write_text("ansible_user: hidden\n")
    (folder / "host_vars/w2/readme.md").write_text("ansible_user: readme\n")
    host = read(folder).hosts["w2"]
    assert (host.user, host.address) == ("b", "10.0.0.1")


def test_of_groups_beside_each_other_priority_then_name_decides(folder: Path) -> None:
    text = "[b]\nx\n[a]\nx\n[a:vars]\nansible_user=a\n[b:vars]\nansible_user=b\n"
    assert read(folder, text).hosts["x"].user == "b"
    assert read(folder, text + "[a:vars]\nansible_group_priority=10\n").hosts["x"].user == "a"
    assert read(folder, text + "[a:vars]\nansible_group_priority={{ x }}\n").hosts["x"].user == "b"


def test_groups_can_be_selected(folder: Path) -> None:
    inventory = read(folder)
    assert inventory.groups == {"ungrouped": ("mail",), "web": ("w1", "w2"), "dc": ("w1", "w2")}
    assert [host.name for host in inventory.resolve("@dc,!w1")] == ["w2"]


def test_an_encrypted_file_is_not_read_and_that_is_said(folder: Path) -> None:
    (folder / "group_vars/web.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    inventory = read(folder)
    assert inventory.warnings == (f"{folder}/hosts: {folder}/group_vars/web.yml is encrypted and was not read",)
    assert inventory.hosts["w1"].user == "web"


def test_a_host_with_a_template_is_a_warning_until_it_is_selected(folder: Path) -> None:
    inventory = read(folder, 'a ansible_host="{{ x }}"\nb\n')
    assert list(inventory.hosts) == ["b"]
    assert len(inventory.warnings) == 1
    assert inventory.warnings[0].startswith("a cannot be used: ansible_host of this host")
    assert inventory.resolve("b")[0].name == "b"
    for selection in ("a", "all"):
        with pytest.raises(BadInput, match="ansible_host of this host"):
            inventory.resolve(selection)


def test_a_value_of_the_vault_that_does_not_matter_does_not_matter(folder: Path) -> None:
    (folder / "host_vars/w1.yml").write_text("secret: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  61\n")
    assert read(folder).hosts["w1"].user == "web"


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: b: c\n", "this is not YAML"), ("- a\n", "these are no variables"), ("a: 1\na: 2\n", "stands here twice")],
)
def test_broken_variable_files_are_refused(folder: Path, text: str, message: str) -> None:
    (folder / "group_vars/web.yml").write_text(text)
    (folder / "host_vars/w1.yml").write_text(text)
    with pytest.raises(BringupError) as caught:
        read(folder)
    errors = getattr(caught.value, "errors", ())
    assert [message in one.message for one in errors] == [True, True]
    assert {str(one.message).split(":")[0] for one in errors} == {
        f"{folder}/group_vars/web.yml",
        f"{folder}/host_vars/w1.yml",
    }


def test_names_do_not_lead_out_of_the_folder(folder: Path) -> None:
    (folder / "secret.yml").write_text("ansible_user: leaked\n")
    inventory = read(folder, "[../secret]\nx\n")
    assert inventory.hosts["x"].user is None
    assert inventory.warnings == (f"{folder}/hosts: the group '../secret' is left out: its name cannot be selected",)


def test_a_group_that_contains_itself(folder: Path) -> None:
    with pytest.raises(BadInput, match="a group contains itself"):
        read(folder, "[a:children]\nb\n[b:children]\na\n")


def test_many_hosts_share_one_warning(folder: Path) -> None:
    inventory = read(folder, "w[1:9] ansible_password=x\n")
    assert inventory.warnings == (
        f"{folder}/hosts: w1, w2, w3 and 6 others: passwords are not used: keys log in, and sudo must not ask",
    )
