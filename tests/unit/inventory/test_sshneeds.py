from pathlib import Path

import pytest

from inventory.sshneeds import openssh_only

SERVER = ("tray1.example.com", 22)


Lines = dict[str, tuple[str, ...]]


def needs(lines: Lines | None = None, *, keys: tuple[str, ...] = (), known: tuple[str, ...] = ()) -> tuple[str, ...]:
    return openssh_only(lines or {}, keys, known, SERVER)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ({"pkcs11provider": ("/usr/lib/x.so",)}, "PKCS11Provider /usr/lib/x.so"),
        ({"securitykeyprovider": ("/usr/lib/sk.so",)}, "SecurityKeyProvider /usr/lib/sk.so"),
        ({"knownhostscommand": ("/bin/keys %H",)}, "KnownHostsCommand /bin/keys %H"),
        ({"certificatefile": ("~/.ssh/id-cert.pub",)}, "CertificateFile ~/.ssh/id-cert.pub"),
        ({"proxycommand": ("cloud ssh %h",)}, "ProxyCommand cloud ssh %h"),
        ({"preferredauthentications": ("gssapi-with-mic,publickey",)}, "PreferredAuthentications"),
        ({"verifyhostkeydns": ("true",)}, "VerifyHostKeyDNS yes"),
    ],
)
def test_settings_that_only_openssh_follows(lines: Lines, reason: str) -> None:
    (found,) = needs(lines)
    assert found.startswith(reason)


@pytest.mark.parametrize(
    "lines",
    [
        {},
        {"securitykeyprovider": ("internal",), "pkcs11provider": ("none",), "proxycommand": ("none",)},
        {"gssapiauthentication": ("yes",)},
        {"preferredauthentications": ("publickey",)},
        {"verifyhostkeydns": ("false",)},
    ],
)
def test_settings_of_no_matter(lines: Lines) -> None:
    assert needs(lines) == ()


class TestHardwareKeys:
    def key(self, path: Path, public: str) -> str:
        path.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
        Path(f"{path}.pub").write_text(f"{public} AAAA me\n")
        return str(path)

    def test_the_only_key(self, tmp_path: Path) -> None:
        key = self.key(tmp_path / "id", "sk-ssh-ed25519@openssh.com")
        assert needs(keys=(key, f"{tmp_path}/missing")) == (f"hardware key {key}",)

    def test_a_public_half_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "id.pub"
        path.write_text("sk-ecdsa-sha2-nistp256@openssh.com AAAA\n")
        assert needs(keys=(str(path),)) == (f"hardware key {path}",)

    def test_beside_another_key(self, tmp_path: Path) -> None:
        hard = self.key(tmp_path / "hard", "sk-ssh-ed25519@openssh.com")
        soft = self.key(tmp_path / "soft", "ssh-ed25519")
        assert needs(keys=(hard, soft)) == ()

    def test_none_at_all(self, tmp_path: Path) -> None:
        assert needs(keys=(f"{tmp_path}/missing",)) == ()


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("@cert-authority *.example.com ssh-ed25519 AAAA", True),
        ("@cert-authority other,tray?.example.com ssh-ed25519 AAAA", True),
        ("@cert-authority * ssh-ed25519 AAAA", True),
        ("@cert-authority *.example.com,!tray1.example.com ssh-ed25519 AAAA", False),
        ("@cert-authority *.example.org ssh-ed25519 AAAA", False),
        ("@revoked * ssh-ed25519 AAAA", False),
        ("tray1.example.com ssh-ed25519 AAAA", False),
        ("@cert-authority", False),
        ("", False),
    ],
)
def test_host_certificates(tmp_path: Path, line: str, *, needed: bool) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"# comment\n{line}\n")
    assert needs(known=(f"{tmp_path}/missing", str(path))) == ((f"host certificates ({path})",) if needed else ())


def test_files_that_are_no_text_are_no_reason(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_bytes(b"\xff\x00" * 100)
    assert needs(keys=(str(path),), known=(str(path), str(tmp_path))) == ()
