"""The unit of the connector and the script that puts it in place. Pure.

As Tokios documents it: `tokios-connector --config tokios.json`, with `tunnel_token` and `upstream` in the file, and
"Tunnel established" in its output when it has reached the gateway. The file is made anew at each start, out of the
token and the endpoint of the generation that runs then.
"""

from __future__ import annotations

from dataclasses import dataclass

from inventory.quoting import quote, quote_all
from launch.building.unit import environment

ESTABLISHED = "Tunnel established"
WAIT_S = 20
# `members` is the last field that holds urls, and the head its first. Nothing in token or url needs JSON's quotes.
_CONFIGURE = r"""set -e; umask 077; file=$RUNTIME_DIRECTORY/tokios.json
url=$(sed -n 's/^.*"members": \[{[^}]*"url": "\([^"]*\)".*$/\1/p' "$0"); [ -n "$url" ]
printf '{"tunnel_token": "%s", "upstream": "%s"}' "$(cat "$1")" "$url" >"$file"
chown "$(stat -L -c %u:%g "$RUNTIME_DIRECTORY")" "$file" """


@dataclass(frozen=True, slots=True)
class Connector:
    """`connector`: the program on the head; `folder`: of the deployment, absolute."""

    deployment: str
    connector: str
    folder: str

    @property
    def ranks_unit(self) -> str:
        return f"bringup-{self.deployment}.service"

    @property
    def unit(self) -> str:
        return f"bringup-{self.deployment}-tokios.service"

    @property
    def runtime(self) -> str:
        return self.unit.removesuffix(".service")

    @property
    def token_file(self) -> str:
        return f"{self.folder}/tokios-token"

    @property
    def generation_file(self) -> str:
        return f"{self.folder}/current/generation.json"

    @property
    def configure(self) -> str:
        """One line, as systemd wants it."""
        return _CONFIGURE.strip().replace("\n", "; ")


def unit_text(connector: Connector) -> str:
    return environment().get_template("tokios.service.j2").render(s=connector)


def connect_script(connector: Connector) -> str:
    """Put the unit in place behind the token, which lies there already, and wait until the tunnel stands.

    Exit status 3: no systemd; 4: no such program; 5: it does not stay up, or no tunnel in time, with its last lines.
    """
    path = f"/etc/systemd/system/{connector.unit}"
    return f"""unit={quote(connector.unit)}
[ -d /run/systemd/system ] || exit 3
[ -x {quote(connector.connector)} ] || exit 4
systemctl cat -- {quote(connector.ranks_unit)} >/dev/null 2>&1 || exit 3
printf %s {quote(unit_text(connector))} >{quote(path)}.new && mv -- {quote(path)}.new {quote(path)} || exit 1
systemctl daemon-reload && systemctl enable --quiet -- "$unit" || exit 1
since=$(date '+%Y-%m-%d %H:%M:%S')
systemctl restart -- "$unit"
looks=0
while [ "$looks" -lt {WAIT_S} ]; do
  journalctl --quiet --no-pager --output=cat --since "$since" --unit "$unit" 2>/dev/null \
    | grep -q {quote(ESTABLISHED)} && exit 0
  looks=$((looks + 1)); sleep 1
done
journalctl --quiet --no-pager --output=cat --since "$since" --unit "$unit" --lines 10 >&2
systemctl is-active -- "$unit" >&2
exit 5
"""


def disconnect_script(connector: Connector) -> str:
    """Stop it and remove the unit and the token; nothing of it stays."""
    files = [f"/etc/systemd/system/{connector.unit}", connector.token_file]
    return f"""unit={quote(connector.unit)}
if [ -d /run/systemd/system ]; then systemctl disable --quiet --now -- "$unit" 2>/dev/null; fi
rm -f -- {quote_all(files)} || exit 1
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  case $(systemctl is-active -- "$unit") in active | activating | deactivating | reloading) exit 5 ;; esac
  systemctl reset-failed -- "$unit" 2>/dev/null || :
fi
"""
