"""Finding recipes, strategies and hardware profiles in our own catalogue and in checkouts of the public one.

A catalogue is a folder with `models/<org>/<name>.yaml`, `strategies/`, `kv_store/` and `taxonomy.yaml`. Several are
searched in order; a recipe uses the strategies and profiles of its own catalogue and, for those that it lacks, of the
others. Files are read when they are asked for: naming a model opens one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inventory import yamlfile
from inventory.errors import BadInput, raise_all
from inventory.nearest import nearest
from launch.catalogue.recipe import Recipe, mode_errors
from launch.catalogue.taxonomy import KvStore, Profile, Strategy, Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inventory.document import Document

T = TypeVar("T")

OURS = Path(__file__).parents[1] / "recipes"
_NOT_OF_YAML_1_2 = frozenset({"yes", "no", "on", "off"})  # the public catalogue is read as YAML 1.2: these are text


@dataclass(frozen=True, slots=True)
class Library:
    """What the choices of a recipe are looked up in."""

    profiles: Mapping[str, Profile]
    strategies: Mapping[str, Strategy]
    kv_stores: Mapping[str, KvStore]
    taxonomy: Taxonomy

    def profile(self, hardware: str) -> Profile:
        """The profile of a hardware id; of an unknown one an empty one."""
        return self.profiles.get(hardware) or Profile()

    def strategy(self, name: str) -> Strategy:
        return self.strategies.get(name) or Strategy(name=name)


@dataclass(frozen=True, slots=True)
class Found:
    """A recipe, its id (`org/name`), the file it stands in and the library that goes with it."""

    id: str
    path: Path
    recipe: Recipe
    library: Library


@dataclass(frozen=True)
class Folder:
    """One catalogue. Unknown keys are refused in ours, where they are mistakes, and ignored in those of others."""

    path: Path
    foreign: bool = True

    @cached_property
    def recipe_paths(self) -> dict[str, Path]:
        models = self.path / "models"
        found = sorted(models.glob("*/*.yaml"))
        return {str(path.relative_to(models).with_suffix("")): path for path in found}

    @cached_property
    def taxonomy(self) -> Taxonomy:
        path = self.path / "taxonomy.yaml"
        return self.read(path, Taxonomy) if path.exists() else Taxonomy()

    @cached_property
    def strategies(self) -> dict[str, Strategy]:
        return {path.stem: self.read(path, Strategy) for path in sorted((self.path / "strategies").glob("*.yaml"))}

    @cached_property
    def kv_stores(self) -> dict[str, KvStore]:
        return {path.stem: self.read(path, KvStore) for path in sorted((self.path / "kv_store").glob("*.yaml"))}

    def recipe(self, id_: str) -> Recipe:
        path = self.recipe_paths[id_]
        document = plain(yamlfile.load(path))
        recipe = document.validate(Recipe, tolerate_unknown=self.foreign)
        raise_all(
            [
                document.error(where, why, observed="the recipe", required="modes that name existing things")
                for where, why in mode_errors(recipe).items()
            ]
        )
        return recipe

    def read(self, path: Path, model: type[T]) -> T:
        return plain(yamlfile.load(path)).validate(model, tolerate_unknown=self.foreign)


@dataclass(frozen=True)
class Catalogue:
    """Catalogues in the order of precedence."""

    folders: Sequence[Folder]
    _found: dict[str, Found] = field(default_factory=dict)

    @classmethod
    def of(cls, folders: Sequence[Path] = (), *, ours: bool = True) -> Catalogue:
        """Those of the operator first, then ours. Raises `BadInput` for a folder without `models/`."""
        for path in folders:
            if not (path / "models").is_dir():
                raise BadInput(
                    f"{path} is not a recipe catalogue",
                    id="recipes-folder",
                    observed="no folder models/ in it" if path.is_dir() else "no such folder",
                    required="a checkout of vllm-project/recipes, or a folder laid out like one",
                    next_command="invoke recipes.list",
                )
        own = [Folder(OURS, foreign=False)] if ours else []
        return cls([*(Folder(path) for path in folders), *own])

    def ids(self) -> Iterator[str]:
        """All recipe ids, each once."""
        yield from dict.fromkeys(id_ for folder in self.folders for id_ in folder.recipe_paths)

    def find(self, name: str) -> Found:
        """The recipe that an operator means: `org/name`, `name`, or the beginning of a name, in any case.

        Raises `BadInput` with the nearest names, or with those that `name` may mean; and whatever is wrong with the
        recipe's own files.
        """
        id_ = self.id_of(name)
        if id_ not in self._found:
            folder = next(one for one in self.folders if id_ in one.recipe_paths)
            self._found[id_] = Found(id_, folder.recipe_paths[id_], folder.recipe(id_), self.library(folder))
        return self._found[id_]

    def id_of(self, name: str) -> str:
        folded, ids = name.strip().lower(), list(self.ids())
        names = {id_: (id_.lower(), id_.lower().partition("/")[2]) for id_ in ids}
        for matches in (lambda one: folded == one, lambda one: bool(folded) and one.startswith(folded)):
            found = [id_ for id_, own in names.items() if any(map(matches, own))]
            if len(found) == 1:
                return found[0]
            if found:
                raise _ambiguous(name, found)
        raise _unknown(name, ids)

    def library(self, folder: Folder) -> Library:
        ordered = [*(one for one in reversed(self.folders) if one is not folder), folder]
        taxonomy = folder.taxonomy if (folder.path / "taxonomy.yaml").exists() else _first_taxonomy(self.folders)
        return Library(
            profiles={key: value for one in ordered for key, value in one.taxonomy.hardware_profiles.items()},
            strategies={key: value for one in ordered for key, value in one.strategies.items()},
            kv_stores={key: value for one in ordered for key, value in one.kv_stores.items()},
            taxonomy=taxonomy,
        )


def plain(document: Document) -> Document:
    """The document as YAML 1.2 reads it and without null keys, which count as absent.

    Null stays below `install`, where the order of the keys alone says something, and in lists.
    """
    return replace(document, data=_plain(document, document.data, ()))


def _plain(document: Document, value: object, where: tuple[str | int, ...]) -> object:
    if isinstance(value, dict):
        keeps_null = where[-1:] == ("install",)
        return {
            key: _plain(document, item, (*where, key)) for key, item in value.items() if item is not None or keeps_null
        }
    if isinstance(value, list):
        return [_plain(document, item, (*where, index)) for index, item in enumerate(value)]
    if isinstance(value, bool):
        mark = document.marks.get(where)
        return mark.raw if mark and mark.raw and mark.raw.lower() in _NOT_OF_YAML_1_2 else value
    return value


def _first_taxonomy(folders: Sequence[Folder]) -> Taxonomy:
    return next((one.taxonomy for one in folders if (one.path / "taxonomy.yaml").exists()), Taxonomy())


def _ambiguous(name: str, found: Sequence[str]) -> BadInput:
    return BadInput(
        f"{name} may mean {len(found)} models",
        id="model-ambiguous",
        observed=", ".join(sorted(found)[:8]),
        required="the name of one model",
        next_command=f"the same command with --model {min(found)}",
    )


def _unknown(name: str, ids: Sequence[str]) -> BadInput:
    short = {id_.partition("/")[2]: id_ for id_ in ids}
    near = nearest(name, [*ids, *short])
    return BadInput(
        f"no recipe is called {name}" + (f", did you mean {near.lower()}?" if near else ""),
        id="model-unknown",
        observed=f"--model {name}",
        required="a model of the catalogue: invoke recipes.list",
        next_command=f"the same command with --model {near.lower()}" if near else "invoke recipes.list",
    )
