"""A repository of packages: its address and its key as the inventory has them, so that the manager trusts it alone.

The address is `mirrors: NAME:` of the inventory and the folder of the entry. The key was compared with its pinned
fingerprint on the control machine (`playbooks/repositories`). The source is tried before it is put in its place:
one that does not answer would break every later update of the host.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from inventory.quoting import quote, quote_all
from playbooks.entry import At, Entry, Text, matching
from playbooks.plan import Phase, Refusal, Step
from playbooks.repositories import apt, dnf
from playbooks.repositories.source import Placed, Source
from playbooks.steps.package_manager import MANAGER_REFUSALS, functions

MirrorName: TypeAlias = Literal["cuda", "nvidia_container", "rocm", "amdgpu"]
Word: TypeAlias = Annotated[Text, matching(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "a word of letters, digits and . _ + -")]
Suite: TypeAlias = Annotated[Text, matching(r"/|[A-Za-z0-9][A-Za-z0-9._+/-]*", "a suite, or / of a flat repository")]
Folder: TypeAlias = Annotated[
    Text, matching(r"([A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*)?", "a folder below the mirror, no / at its ends")
]
_EDIT = "${EDITOR:-vi} inventory/hosts.yaml  # docs/reference/inventory.md, Repositories"
REFUSALS = (
    *MANAGER_REFUSALS,
    Refusal(
        id="repository-unknown",
        message="the inventory does not say where these packages come from",
        required="the address of the repository or of a mirror of it, its key and the key's fingerprint",
        next_command=_EDIT,
    ),
    Refusal(
        id="repository-key-missing",
        message="nothing says who may sign these packages",
        required="key: (a file, or its address) and fingerprint: (40 digits, from the vendor's own page)",
        next_command=_EDIT,
    ),
    Refusal(
        id="repository-key-other",
        message="the key of a repository is another one than the pinned",
        required="exactly the pinned key and no other beside it",
        next_command="gpg --show-keys KEYFILE  # and compare with what the vendor publishes; never pin what you found",
    ),
    Refusal(
        id="repository-key-unreadable",
        message="the key of a repository cannot be read on this machine",
        required="a public OpenPGP key",
        next_command=_EDIT,
    ),
    Refusal(
        id="repository-twice",
        message="the host has this repository already, from another hand",
        required="one source of it: apt refuses two that trust different keys, dnf takes packages from either",
        next_command="ssh HOST 'dpkg -S FILE || rpm -qf FILE'  # purge its package or remove the file, then again",
    ),
    Refusal(
        id="repository-signature",
        message="the repository is not signed by the pinned key",
        required="an index with a valid signature of it",
        next_command="gpg --show-keys KEYFILE  # and ask who runs the mirror: nothing of it was used",
    ),
)


class Repository(Entry):
    """`mirror`: which of the inventory's. `folder`: below it. `suite`, `components`: apt's; / is a flat repository.

    `priority`: of its packages against others. apt: the higher wins, all have 500; dnf: the lower, all have 99.
    """

    PHASE: ClassVar[Phase] = Phase.PREPARE
    kind: Literal["repository"]
    mirror: MirrorName
    manager: Literal["apt", "dnf"] = "apt"
    folder: Folder = ""
    suite: Suite = "/"
    components: tuple[Word, ...] = ()
    priority: Annotated[int, Field(ge=1, le=1001)] | None = None

    @model_validator(mode="after")
    def _flat_or_not(self) -> Repository:
        if self.suite.endswith("/") == bool(self.components):
            raise ValueError("`components` beside a suite that does not end in /, and only there")
        if self.manager == "dnf" and (self.components or self.suite != "/"):
            raise ValueError("no `suite` and `components` for dnf: its repositories are folders")
        return self

    def step(self, at: At) -> Step:
        source = at.sources.get(self.mirror) or Source(self.mirror, problem=("repository-unknown", self.mirror))
        if source.problem:
            return self._refused(at, *source.problem)
        url = f"{source.url}/{self.folder}".rstrip("/") + "/"
        if self.manager == "apt":
            placed = apt.files(apt.Repository(source, url, self.suite, self.components, self.priority))
        else:
            placed = dnf.files(source, url, self.priority)
        begin = (
            f"{functions('repository', f'repository_{self.manager}')}"
            f"wanted_manager={self.manager} name={quote(self.mirror)} url={quote(url)}\n"
            f"source_file={quote(placed[-1].path)}\n"
            f"set -- {quote_all(one.path for one in placed)}\n"
        )
        return self.made(
            at,
            probe=f'{begin}repository_state "$@"',
            wanted=f"{_digest(placed)} indexed",
            script=f'{begin}begin_repository "$@"\n{_writes(placed)}read_index\n',
            summary=f"packages of {self.mirror} from {url}, signed by {source.fingerprint}",
            deadline_s=1200.0,
            refusals=REFUSALS,
        )

    def _refused(self, at: At, name: str, detail: str) -> Step:
        """What cannot be used is a state like others: it is told where the entry counts."""
        said = f"packages of {self.mirror}"
        refused = f"printf '%s' {quote(f'refused {name} {detail}')}"
        return self.made(at, probe=refused, wanted="there", script="exit 1\n", summary=said, refusals=REFUSALS)


def _digest(placed: tuple[Placed, ...]) -> str:
    """As `files_digest` prints it."""
    lines = (
        f"{hashlib.sha256(one.text.encode()).hexdigest()} {one.mode}\n" if one.text else "absent\n" for one in placed
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _writes(placed: tuple[Placed, ...]) -> str:
    """Everything in its place but the source, which `read_index` puts there when it has been read.

    As text: what no output may show is found and hidden in it.
    """
    *first, source = placed
    lines = (
        f"place {quote(one.path)} {one.mode} {quote(one.text)}\n" if one.text else f"rm -f -- {quote(one.path)}\n"
        for one in first
    )
    return f'{"".join(lines)}place "$stage/${{source_file##*/}}" {source.mode} {quote(source.text)}\n'
