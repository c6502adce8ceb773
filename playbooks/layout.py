"""Where things lie on a host, all below the state dir."""

from __future__ import annotations

from dataclasses import dataclass

from inventory import names
from inventory.errors import BadInput


@dataclass(frozen=True, slots=True)
class Layout:
    state_dir: str

    def environment(self, digest: str) -> str:
        return f"{self.state_dir}/envs/{digest}"

    @property
    def proofs(self) -> str:
        """What was found in environments when they were proved."""
        return f"{self.state_dir}/proofs"

    def tool(self, digest: str) -> str:
        """An environment that is no engine's: what fetches weights."""
        return f"{self.state_dir}/tools/envs/{digest}"

    def wheelhouse(self, name: str) -> str:
        return f"{self.state_dir}/wheelhouses/{name}"

    def incoming(self, digest: str) -> str:
        """Where the control machine puts files until all are there."""
        return f"{self.state_dir}/incoming/{digest}"

    def image(self, identity: str) -> str:
        """Where the archive of an image lies until it is loaded."""
        return f"{self.state_dir}/images/{identity}"

    def weights(self, repo: str, commit: str) -> str:
        """Raises `BadInput` for a repository that is no name on a hub: a recipe could lead out of the folder by it."""
        try:
            names.repository(repo)
        except ValueError as error:
            raise BadInput(
                "the weights have a name that is none of a hub",
                id="repository-name",
                observed=repr(repo),
                required=str(error),
                next_command="correct model_id in the recipe: invoke recipes.validate names its file",
            ) from None
        return f"{self.state_dir}/weights/{repo.replace('/', '--')}/{commit}"

    @property
    def caches(self) -> str:
        return f"{self.state_dir}/caches"

    def deployment(self, name: str) -> str:
        return f"{self.state_dir}/deployments/{name}"

    def generation(self, name: str, generation: str) -> str:
        return f"{self.deployment(name)}/{generation}"

    def current(self, name: str) -> str:
        return f"{self.deployment(name)}/current"
