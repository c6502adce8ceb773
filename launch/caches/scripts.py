"""What hosts are told while caches go from one to the other. Pure: scripts as text.

Below `<state_dir>/caches`: `<stamp>/` is what ranks use; `.share-<stamp>/` is what a host gives, `.incoming-<stamp>/`
what it takes, until every file has its sum; `.staged/<stamp>/` is for its next start, on all hosts or on none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inventory.quoting import quote, quote_all
from playbooks.cargo import Cargo, CargoFile
from playbooks.ship.scripts import end_script, serve_script, try_script

ON_HOST = Path(__file__).parent / "on_host.py"
FETCH = Path(__file__).parents[2] / "playbooks" / "ship" / "fetch.py"
SHARE = "share.bin"
SPARE_BYTES = 2_000_000_000  # left for logs, whatever comes
ANY_SUM = "0" * 64  # sums are those of the files inside, read when they are taken apart


@dataclass(frozen=True, slots=True)
class Place:
    """One host's caches in `folder`, `<state_dir>/caches/<stamp>`; `python` runs there, `address` is for its peers."""

    host: str
    folder: str
    python: str
    address: str

    @property
    def stamp(self) -> str:
        return self.folder.rpartition("/")[2]

    @property
    def caches(self) -> str:
        return self.folder.rpartition("/")[0]

    @property
    def share(self) -> str:
        return f"{self.caches}/.share-{self.stamp}"

    @property
    def incoming(self) -> str:
        return f"{self.caches}/.incoming-{self.stamp}"

    @property
    def staged(self) -> str:
        return f"{self.caches}/.staged/{self.stamp}"

    def of(self, number: int) -> str:
        """Where the share of the host of that number comes to."""
        return f"{self.incoming}/from-{number}"


def list_script(place: Place) -> str:
    return f"[ -d {quote(place.folder)} ] || {{ echo '{{\"files\": []}}'; exit 0; }}\n" + _program(
        place, "list", place.folder
    )


def begin_script(place: Place, size: int) -> str:
    """Empty folders for what comes and goes. Fails where `size` bytes have no room beside what logs need."""
    folders = quote_all([place.share, place.incoming])
    return f"""umask 077
rm -rf -- {folders} && mkdir -p -- {folders} || exit 1
free=$(($(df -Pk {quote(place.caches)} | awk 'NR == 2 {{ print $4 }}') * 1024))
[ "$free" -gt {size + SPARE_BYTES:d} ] || {{ echo "$free bytes free, {size + SPARE_BYTES:d} needed" >&2; exit 1; }}
"""


def share_script(place: Place) -> str:
    wanted = f"{place.share}/wanted.json"
    return _program(place, "share", place.folder, wanted, f"{place.share}/{SHARE}")


def serve(place: Place, secret: str) -> str:
    """Prints `ADDRESS PORT`; only whoever knows the secret is given anything."""
    return serve_script(_cargo(place.share), secret, [place.address])


def fetch_script(place: Place, number: int, url: str) -> str:
    """Take one share from where it is lent. Goes on where it was cut off."""
    into = place.of(number)
    silent = quote(f"the host at {url.split('/')[2]} does not answer")
    return f"""set -e
umask 077
mkdir -p -- {quote(into)}
{try_script(_cargo(into), [url])}
[ -e .source ] || {{ echo {silent} >&2; exit 1; }}
printf '%s  %s\\n' {ANY_SUM} {SHARE} >manifest
{quote(place.python)} - manifest <<'END_OF_FETCH'
{FETCH.read_text(encoding="utf-8")}
END_OF_FETCH
rm -f .source manifest
"""


def place_script(place: Place) -> str:
    """Take the shares apart; behind that only whole files are left, and what the set is."""
    files = f"{place.incoming}/files"
    return f"""set -e
umask 022
mkdir -p -- {quote(files)}
{_program(place, "place", f"{place.incoming}/wanted.json", files)}
rm -rf -- {quote(place.incoming)}/from-*
"""


def stage_script(place: Place) -> str:
    """All hosts have verified theirs: this is what the next start takes."""
    return f"""set -e
mkdir -p -- {quote(place.caches)}/.staged
rm -rf -- {quote(place.staged)}
mv -T -- {quote(place.incoming)} {quote(place.staged)}
"""


def end(place: Place) -> str:
    """End what is lent, and remove what is of no use any more; what is staged stays."""
    return f"{end_script(_cargo(place.share))}\nrm -rf -- {quote_all([place.share, place.incoming])}\n"


def _cargo(incoming: str) -> Cargo:
    return Cargo("", incoming, (CargoFile(SHARE, 0, ANY_SUM, ""),))


def _program(place: Place, *arguments: str) -> str:
    text = ON_HOST.read_text(encoding="utf-8")
    return f"{quote(place.python)} - {quote_all(arguments)} <<'END_OF_PROGRAM'\n{text}\nEND_OF_PROGRAM\n"
