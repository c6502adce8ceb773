"""What hosts are told where rsync stands in for the spread: scripts as text. Pure."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.quoting import quote
from inventory.recorded import PROCESS_FUNCTIONS
from playbooks.jobs import start_script

if TYPE_CHECKING:
    from launch.spread.parcel import Parcel, ParcelFile
    from launch.spread.scripts import Post

USER = "spread"
NO_RSYNC, BAD_SUM = "no-rsync-here", "bad-sum-here"
# What the scripts and rsync say, and what an operator is told then.
REASONS = {
    NO_RSYNC: "spread-python",
    BAD_SUM: "spread-bad-data",
    "No space left": "spread-space",
    "Disk quota exceeded": "spread-space",
    "Permission denied": "spread-disk",
    "Read-only file system": "spread-disk",
}


@dataclass(frozen=True, slots=True)
class Given:
    """What a host needs to fetch: address and port of who lends, the secret, and bytes a second at the most."""

    lender: tuple[str, int]
    secret: str
    rate_limit: int | None = None


def lend_script(post: Post, parcel: Parcel, secret: str) -> str:
    """Read the folder, lend it by rsync's daemon, and print the port. Exits with 1 where that cannot be."""
    place = quote(f"{post.run}.rsync")
    conf = f"""use chroot = no
read only = yes
list = no
[folder]
path = {post.folder}
auth users = {USER}
secrets file = {post.run}.rsync/secrets
"""
    return f"""{_begin(place, parcel)}
{_place_file("rsyncd.conf", conf)}
{_place_file("secrets", f"{USER}:{secret}")}
cd -- {quote(post.folder)} && sha256sum --quiet -c {place}/sums >&2 || exit 1
cd -- {place} || exit 1
for _ in 1 2 3 4 5 6 7 8; do
  port=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
  port=$((20000 + port % 12000))
  setsid rsync --daemon --no-detach --address={quote(post.address)} --port="$port" --config=rsyncd.conf \\
    >daemon.log 2>&1 </dev/null &
  identity "$!" >process
  sleep 0.5
  if recorded_alive process; then echo "$port"; exit 0; fi
done
cat daemon.log >&2
exit 1
"""


def fetch_script(post: Post, parcel: Parcel, given: Given, job: str, about: str) -> str:
    """As a job: fetch, compare every sum, fetch what is wrong once more, and write the manifest."""
    place, folder = quote(f"{post.run}.rsync"), quote(post.folder)
    address, port = given.lender
    url = quote(f"rsync://{USER}@{f'[{address}]' if ':' in address else address}:{port}/folder/")
    limit = f" --bwlimit={max(1, given.rate_limit // 1024)}" if given.rate_limit else ""
    files = f"--password-file={place}/password --files-from={place}/names"
    rsync = f"rsync -r --size-only --inplace --partial --timeout=60{limit} {files}"
    again = rsync.replace(" --size-only", "")
    name = quote(parcel.manifest_name)
    body = f"""mkdir -p -- {folder} && cd -- {folder} || exit 1
{rsync} {url} . || exit 1
sha256sum --quiet -c {place}/sums || {{ {again} --checksum {url} . && sha256sum --quiet -c {place}/sums; }} ||
  {{ echo {BAD_SUM} >&2; exit 1; }}
sync -f . 2>/dev/null || sync
cp -- {place}/manifest {name}.new && mv -- {name}.new {name} || exit 1
rm -rf -- {place}
"""
    return f"""{_begin(place, parcel)}
{_place_file("password", given.secret)}
{_place_file("manifest", parcel.manifest)}
{start_script(job, body, state_dir=post.state_dir, about=about)}"""


def unlend_script(post: Post) -> str:
    place = quote(f"{post.run}.rsync")
    return f"""{PROCESS_FUNCTIONS}
if recorded_alive {place}/process; then kill "$pid"; fi
rm -rf -- {place}
"""


def _begin(place: str, parcel: Parcel) -> str:
    names = "".join(f"./{one.path}\n" for one in parcel.files)
    return f"""{PROCESS_FUNCTIONS}
command -v rsync >/dev/null || {{ echo {NO_RSYNC} >&2; exit 1; }}
umask 077
mkdir -p -- {place} && cd -- {place} || exit 1
{_place_file("sums", "".join(map(_sum_line, parcel.files)))}
{_place_file("names", names)}
umask 022"""


def _sum_line(one: ParcelFile) -> str:
    """As sha256sum reads it: a backslash in a name is written twice, and told by one before the line."""
    escaped = one.path.replace("\\", "\\\\")
    mark = "\\" if escaped != one.path else ""
    return f"{mark}{one.sha256}  ./{escaped}\n"


def _place_file(name: str, text: str) -> str:
    """A file for this user alone, in the folder where the script is."""
    body = base64.encodebytes(text.encode()).decode()
    return f"(umask 077 && base64 -d >{name}) <<'END' || exit 1\n{body}END"
