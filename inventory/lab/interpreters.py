"""Which Python hosts need: an environment's programs start the interpreter that it was made from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from inventory.lab.image import hidden_by_image


def own() -> Path:
    """The interpreter that runs this program, outside any virtual environment."""
    return Path(os.path.realpath(sys.executable))


def prefixes(environments: Iterable[Path]) -> tuple[Path, ...]:
    """Folders that hosts must see for the interpreters of `environments` and for `own`; none that they see anyway."""
    found = [own().parent.parent]
    for environment in environments:
        found += _homes(environment)
    return tuple(dict.fromkeys(path for path in found if path.is_dir() and hidden_by_image(path)))


def _homes(environment: Path) -> Iterator[Path]:
    """The interpreter's folder as pyvenv.cfg names it and as it is without symlinks; programs may use either."""
    config = environment / "pyvenv.cfg"
    for line in config.read_text().splitlines() if config.is_file() else ():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            bin_folder = Path(value.strip())
            yield bin_folder.parent
            yield Path(os.path.realpath(bin_folder / "python3")).parent.parent
