"""A clock that is wrong, as TLS sees it: a real certificate that does not hold now, and every client that meets it.

The clock of this machine stays: a certificate of next week is to it what one of today is to a clock of last week.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from huggingface_hub import close_session

from inventory.errors import CheckFailed
from inventory.secret import Url
from launch.prefetch import hub as hubs
from launch.prefetch import modelscope
from launch.prefetch.look import Asked, look_script, read_look
from launch.prefetch.plan import Asking, planned
from launch.prefetch.programs.naming import NO_USE_AGAIN, named
from launch.prefetch.source import Fetch, Source
from tests.certificates import made_certificate
from tests.hub import Hub, made_files, serving
from tests.unit.launch.prefetch.hosted import REPO, Outcome, carried_out, holds, job_of, manifest_of
from tests.unit.playbooks.sh import sh

pytestmark = pytest.mark.timeout(120)
FILES = made_files(100_000, 2)
DAYS = {"not yet": (10.0, 20.0), "no more": (-20.0, -10.0), "now": (-1.0, 10.0)}
WRONG = ("not yet", "no more")


@contextmanager
def hub_of(when: str, folder: Path) -> Iterator[tuple[Hub, Path]]:
    """A hub by TLS, and the certificate that its clients would trust at another time."""
    first, last = DAYS[when]
    certificate = made_certificate(folder / f"{when}.pem", from_days=first, to_days=last)
    with serving(certificate=certificate) as hub:
        hub.add(REPO, FILES)
        yield hub, certificate


@pytest.fixture(params=DAYS)
def when(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pulled(hub: Hub, folder: Path) -> Outcome:
    commit = hub.repos[REPO].main
    urls = tuple((path, f"{hub.url}/{REPO}/resolve/{commit}/{quote(path)}") for path in FILES)
    return carried_out(job_of(hub, folder, manifest_of(FILES, commit), origin="pull", urls=urls, pause_s=60.0))


def test_the_hubs_own_client_is_run_once_and_the_clock_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both at once: for half a minute it tries by itself, which nobody can forbid it."""

    def fetched(when: str, hub: Hub) -> Outcome:
        job = job_of(hub, tmp_path / when, manifest_of(FILES, hub.repos[REPO].main), stall_s=60.0, pause_s=60.0)
        done = carried_out(job, timeout_s=100)
        assert not hub.asked, "nothing is asked of a server that cannot prove who it is"
        return done

    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        served = [stack.enter_context(hub_of(when, tmp_path)) for when in WRONG]
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(b"".join(certificate.read_bytes() for _, certificate in served))
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        outcomes = list(pool.map(fetched, WRONG, [hub for hub, _ in served]))
    for when, done in zip(WRONG, outcomes, strict=True):
        assert done.status == 1
        assert done.name == "clock-wrong", done.said
        assert done.said.count("clock-wrong: ") == 1, "one run of it: a clock does not mend by trying again"
        assert not (tmp_path / when / ".bringup-manifest.json").exists()


def test_what_is_pulled_by_address_says_the_clock_too(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    with hub_of(when, tmp_path) as (hub, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        done = pulled(hub, tmp_path / "weights")
    if when == "now":
        assert done.status == 0, done.said
        assert holds(tmp_path / "weights", FILES)
    else:
        assert done.name == "clock-wrong", done.said
        assert time.monotonic() - began < 50, "it did not wait for another try"


@pytest.mark.parametrize("when", ["now", "no more"])
def test_an_issuer_that_nobody_knows_is_no_matter_of_the_clock(when: str, tmp_path: Path) -> None:
    with hub_of(when, tmp_path) as (hub, _):
        assert pulled(hub, tmp_path / "weights").name == "hub-certificate"


def test_this_machine_asks_a_hub_and_says_whose_clock_it_is(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_of(when, tmp_path) as (hub, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        close_session()
        try:
            if when == "now":
                assert hubs.resolve(REPO, "main", endpoint=Url(hub.url)).files
                return
            with pytest.raises(CheckFailed) as caught:
                hubs.resolve(REPO, "main", endpoint=Url(hub.url))
        finally:
            close_session()  # whoever comes next trusts whom this machine trusts
    assert caught.value.id == "clock-wrong"
    assert "this machine" in caught.value.message
    assert "date -u" in caught.value.next_command


@pytest.mark.parametrize(("trusted", "name"), [("no more", "clock-wrong"), ("", "hub-certificate")])
def test_a_host_that_was_asked_before_anything_is_planned_is_named_with_it(
    trusted: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_of("no more", tmp_path) as (hub, certificate):
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        answer = sh(look_script(Asked(str(tmp_path), str(tmp_path / "weights"), reach=hub.url)))
        seen = {"tray1": read_look("tray1", answer.stdout)}
        asked = Asking(manifest_of(FILES, "c"), Fetch.HUB_ONCE, Source(), {"tray1": str(tmp_path / "weights")}, ())
        with pytest.raises(CheckFailed) as caught:
            planned(asked, seen)
    assert (caught.value.id, caught.value.host) == (name, "tray1")
    assert "certificate verify failed" in caught.value.observed


@pytest.mark.parametrize(("trusted", "name"), [(True, "clock-wrong"), (False, "hub-certificate")])
def test_modelscope_is_asked_with_the_same_care(
    *, trusted: bool, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playbooks.web.time.sleep", lambda _: None)
    with hub_of("no more", tmp_path) as (hub, certificate):
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with pytest.raises(CheckFailed) as caught:
            modelscope.resolve("o/r", "c" * 40, endpoint=hub.url)
    assert caught.value.id == name


PEER = "invalid peer certificate:"
EXPIRED = "certificate expired: verification time 1757268307 (UNIX), but certificate is not valid after 1428883199"
NOT_YET = (
    "certificate not valid yet: verification time 1 (UNIX), but certificate is not valid before 2 (1 seconds in future)"
)
STRANGER = "certificate not valid for name 'hub'"


@pytest.mark.parametrize("said", [EXPIRED, NOT_YET, "Expired", "NotValidYet", "UnknownIssuer", STRANGER])
def test_what_rustls_says_is_known_by_its_words(said: str) -> None:
    """No client here speaks by it with a server of ours; the words are those of its source."""
    name, seen = named(f"error sending request\n{PEER} {said}\n")
    assert name == ("hub-certificate" if said in {"UnknownIssuer", STRANGER} else "clock-wrong")
    assert seen == f"{PEER} {said}"
    assert name in NO_USE_AGAIN
