"""The kinds about paths. Their steps are made in a module each, which a launch takes without these models."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from playbooks.entry import Account, At, Entry, FilePath, Mode, Text
from playbooks.plan import FileContent, Phase, Step
from playbooks.steps.directory import directory_parts
from playbooks.steps.file import file_parts, gone_parts
from playbooks.steps.symlink import symlink_parts


class Directory(Entry):
    """A folder, its parents included."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["directory"]
    path: FilePath
    mode: Mode = "0755"
    owner: Account = "root"
    group: Account = "root"

    def step(self, at: At) -> Step:
        return self.made(at, **directory_parts(self.path, self.mode, self.owner, self.group))


class File(Entry):
    """A file of exactly this content, or none there (`absent`). `secret`: its content is not shown."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["file", "template"]
    path: FilePath
    content: Text | None = None
    absent: bool = False
    mode: Mode = "0644"
    owner: Account = "root"
    group: Account = "root"
    secret: bool = False

    @model_validator(mode="after")
    def _one_of_two(self) -> File:
        if (self.content is None) != self.absent:
            raise ValueError("either `content`, or `absent: true`")
        return self

    def step(self, at: At) -> Step:
        if self.content is None:
            return self.made(at, **gone_parts(self.path))
        parts = file_parts(self.path, self.content, mode=self.mode, owner=self.owner, group=self.group)
        return self.made(at, **parts, content=FileContent(self.path, self.content, self.secret))


class Symlink(Entry):
    """A symbolic link."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["symlink"]
    path: FilePath
    target: Text

    def step(self, at: At) -> Step:
        return self.made(at, **symlink_parts(self.path, self.target))
