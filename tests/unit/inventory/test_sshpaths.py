import os
import pwd

import pytest

from inventory import sshpaths

ME = pwd.getpwuid(os.getuid())
TOKENS = sshpaths.tokens(target="tray1", hostname="10.0.0.1", user="ops", port=2222, key_name="alias")


@pytest.mark.parametrize(
    ("path", "expanded"),
    [
        ("/plain", "/plain"),
        ("~/.ssh/id", f"{ME.pw_dir}/.ssh/id"),
        ("/a/~/b", "/a/~/b"),
        ("~other/.ssh/id", "~other/.ssh/id"),
        ("%d/.ssh/%n-%h-%r-%p-%k", f"{ME.pw_dir}/.ssh/tray1-10.0.0.1-ops-2222-alias"),
        ("/100%%/%u/%i", f"/100%/{ME.pw_name}/{os.getuid()}"),
        ("/%C/%", "/%C/%"),
        ("/${BRINGUP_TEST_SET}/x", "/yes/x"),
        ("/${BRINGUP_TEST_UNSET}/x", "/${BRINGUP_TEST_UNSET}/x"),
        ("/%%h", "/%h"),
        ("none", ""),
    ],
)
def test_expansion(path: str, expanded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRINGUP_TEST_SET", "yes")
    monkeypatch.setenv("HOME", "/not/asked")
    assert sshpaths.expand(path, TOKENS) == expanded


def test_no_file_is_no_path() -> None:
    assert sshpaths.expand_all(("none", "/a"), TOKENS) == ("/a",)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", ()),
        ("/a /b", ("/a", "/b")),
        ("/a b/c ~/d", ("/a b/c", "~/d")),
        (" /a ", ("/a",)),
        ("none", ("none",)),
    ],
)
def test_lists_of_paths_with_spaces(text: str, paths: tuple[str, ...]) -> None:
    assert sshpaths.split(text) == paths
