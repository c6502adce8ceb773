"""Accounts and membership in groups, by number where devices decide.

The number of a group such as `render` differs between images, also inside one fleet: what opens a device is the number
that owns it, so `groups_of` names devices.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from inventory.quoting import quote, quote_all
from playbooks.entry import Account, At, Entry, FilePath, shell
from playbooks.plan import ABSENT, Phase, Refusal, Step

AccountNumber: TypeAlias = Annotated[int, Field(ge=0, le=4294967294)]
REFUSALS = (
    Refusal(
        id="account-number-taken",
        message="the number of an account or a group belongs to another one",
        required="the same number on every host, held by nobody else",
        next_command="ssh HOST 'getent passwd; getent group'",
    ),
    Refusal(
        id="group-device-missing",
        message="a device whose group should be joined is not there",
        required="the device, which its driver makes",
        next_command="invoke probe --hosts HOST --host-detail",
    ),
)


class User(Entry):
    """An account. None: as it is, or as the system makes it. `groups`: names or numbers that it must be in too."""

    PHASE: ClassVar[Phase] = Phase.PREPARE
    kind: Literal["user"]
    name: Account
    uid: AccountNumber | None = None
    gid: AccountNumber | None = None
    shell: FilePath | None = None
    home: FilePath | None = None
    system: bool = False
    create_home: bool = False
    groups: tuple[Account, ...] = ()
    groups_of: tuple[FilePath, ...] = ()

    def step(self, at: At) -> Step:
        begin = (
            f"{shell('user')}\n"
            f"name={quote(self.name)} uid={quote(_text(self.uid))} gid={quote(_text(self.gid))}\n"
            f"shell={quote(self.shell or '')} home={quote(self.home or '')}\n"
            f"system={'yes' if self.system else 'no'} create_home={'yes' if self.create_home else 'no'}\n"
            f"groups_wanted() {{\n{self._groups()}:\n}}\n"
        )
        more = ", ".join([*self.groups, *(f"the group of {path}" for path in self.groups_of)])
        return self.made(
            at,
            probe=f"{begin}account_state",
            wanted="as wanted",
            script=f"{begin}make_account\n",
            summary=f"account {self.name}" + (f" in {more}" if more else ""),
            refusals=REFUSALS,
        )

    def _groups(self) -> str:
        named = f"printf '%s\\n' {quote_all(self.groups)}\n" if self.groups else ""
        return named + "".join(f"group_of {quote(path)}\n" for path in self.groups_of)


class Group(Entry):
    """A group of this number; None: the one that it has, or any."""

    PHASE: ClassVar[Phase] = Phase.PREPARE
    kind: Literal["group"]
    name: Account
    gid: AccountNumber | None = None

    def step(self, at: At) -> Step:
        name, gid = quote(self.name), quote(_text(self.gid))
        return self.made(
            at,
            probe=f"""entry=$(getent group {name}) || entry=
gid={gid}
if [ -z "$entry" ] && [ -n "$gid" ] && holder=$(getent group "$gid"); then
  printf 'refused account-number-taken %s is %s' "$gid" "${{holder%%:*}}"
elif [ -z "$entry" ]; then printf {ABSENT}
elif [ -z "$gid" ]; then printf there
else printf 'gid %s' "$(printf '%s' "$entry" | cut -d : -f 3)"; fi""",
            wanted="there" if self.gid is None else f"gid {self.gid}",
            script=f"if getent group {name} >/dev/null; then groupmod -g {gid} {name}\n"
            f"else groupadd {f'-g {gid} ' if self.gid is not None else ''}{name}; fi\n",
            summary=f"group {self.name}" + ("" if self.gid is None else f" with number {self.gid}"),
            refusals=REFUSALS,
        )


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
