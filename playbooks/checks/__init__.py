"""The checks, a module each; `registry` lists them.

It is read when one of its lists is first asked for: whoever wants one check should not import 150.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playbooks.checks.registry import CHECKS, GANG_CHECKS, HOST_CHECKS

__all__ = ["CHECKS", "GANG_CHECKS", "HOST_CHECKS"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  (what the registry has)
    if name not in __all__:
        raise AttributeError(name)
    from playbooks.checks import registry

    return getattr(registry, name)
