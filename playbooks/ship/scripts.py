"""What hosts are told while files go to them: scripts as text, and the reading of their answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inventory.quoting import quote, quote_all
from inventory.recorded import PROCESS_FUNCTIONS
from playbooks.cargo import Cargo
from playbooks.steps.shipped import SOURCE

SERVE = Path(__file__).parent / "serve.py"
IDLE_S = 3600  # what other hosts do before they fetch may take long: an environment is installed first
LIFE_S = 12 * 3600
REACHED = "reached"


def sizes_script(cargo: Cargo) -> str:
    """Print `SIZE NAME` of every file that is there already, in a folder that takes the rest; then the free bytes.

    Where an earlier run had the files from is forgotten: nobody may be there any more.
    """
    return f"""umask 077
mkdir -p -- {quote(cargo.incoming)} && cd -- {quote(cargo.incoming)} && rm -f -- {SOURCE} || exit 1
for name in *; do [ ! -f "$name" ] || stat -c '%s %n' -- "$name"; done
kilobytes=$(df -Pk . | awk 'NR == 2 {{ print $4 }}')
printf 'free %s\\n' "$((kilobytes * 1024))"
"""


def read_sizes(answer: str) -> tuple[dict[str, int], int | None]:
    """Sizes by name, and the free bytes; None: the host did not tell."""
    sizes, free = {}, None
    for line in answer.splitlines():
        first, _, rest = line.partition(" ")
        if first == "free":
            free = int(rest) if rest.isdecimal() else None
        elif first.isdecimal():
            sizes[rest] = int(first)
    return sizes, free


def remove_script(cargo: Cargo, names: Sequence[str]) -> str:
    return f"cd -- {quote(cargo.incoming)} && rm -f -- {quote_all(names)}\n"


def serve_script(cargo: Cargo, secret: str, addresses: Sequence[str]) -> str:
    """Lend what came to this host: prints `ADDRESS PORT` a line. The secret stands in no list of processes."""
    program = SERVE.read_text(encoding="utf-8")
    return f"""{PROCESS_FUNCTIONS}
cd -- {quote(cargo.incoming)} && umask 077 || exit 1
command -v python3 >/dev/null || {{ echo 'no python3 here' >&2; exit 1; }}
cat >{quote(cargo.incoming)}.serve.py <<'END_OF_PROGRAM'
{program}
END_OF_PROGRAM
printf '%s\\n' {quote(secret)} >{quote(cargo.incoming)}.secret
setsid python3 {quote(cargo.incoming)}.serve.py . {IDLE_S} {LIFE_S} {quote_all(addresses)} \\
  <{quote(cargo.incoming)}.secret >{quote(cargo.incoming)}.served 2>&1 &
identity "$!" >{quote(cargo.incoming)}.server
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  if grep -qx 'done' {quote(cargo.incoming)}.served; then break; fi
  sleep 0.25
done
rm -f -- {quote(cargo.incoming)}.secret
cat {quote(cargo.incoming)}.served
"""


def end_script(cargo: Cargo) -> str:
    """End what `serve_script` began, and only that."""
    return f"""{PROCESS_FUNCTIONS}
if recorded_alive {quote(cargo.incoming)}.server; then kill "$pid"; fi
rm -f -- {quote(cargo.incoming)}.server {quote(cargo.incoming)}.served {quote(cargo.incoming)}.serve.py
"""


def read_served(answer: str) -> tuple[tuple[str, int], ...]:
    """The addresses and ports at which a host lends."""
    pairs = (line.split() for line in answer.splitlines())
    return tuple((one[0], int(one[1])) for one in pairs if len(one) == 2 and one[1].isdecimal())


def try_script(cargo: Cargo, urls: Sequence[str]) -> str:
    """Try the addresses of another host: the first that answers is kept as the source of this host's files."""
    return f"""umask 077
cd -- {quote(cargo.incoming)} || exit 1
command -v python3 >/dev/null || exit 0
python3 - {quote_all(urls)} <<'END_OF_PROGRAM'
import pathlib, sys, urllib.request
if sys.version_info < (3, 8):
    sys.exit("the Python here is too old to fetch files")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
for url in sys.argv[1:]:
    try:
        with opener.open(url, timeout=5) as answer:
            if answer.status == 200:
                pathlib.Path("{SOURCE}.new").write_text(url)
                pathlib.Path("{SOURCE}.new").replace("{SOURCE}")
                print("{REACHED}")
                break
    except OSError as error:
        print(error, file=sys.stderr)
END_OF_PROGRAM
"""
