"""A draft model is a checkpoint of its own: pinned, downloaded, and read from its folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from inventory.errors import BringupError
from launch.catalogue.draft import draft_of, from_folder
from launch.catalogue.find import OURS as FOLDER
from launch.catalogue.find import Catalogue
from launch.choosing.outline import launched
from launch.request import Request
from launch.vllm_args.parse import parse
from tests.unit.launch.gangs import facts, hosts

V33 = "0.33.0"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ASKED = Request("gpt-oss-120b", features=("spec_decoding",), strategy="single_node_tp")
JSON = '{"model":"org/draft","method":"eagle3","num_speculative_tokens":7}'


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--speculative-config", JSON], "org/draft"),
        ([f"--speculative-config={JSON}"], "org/draft"),
        (["-sc", JSON], "org/draft"),
        (["--speculative-config.model", "org/draft", "--speculative-config.method", "eagle3"], "org/draft"),
        (["--speculative-config", '{"method":"mtp","num_speculative_tokens":1}'], None),
        (["--speculative-config", '{"model":"/models/draft","method":"eagle3"}'], None),
        ([], None),
    ],
)
def test_what_a_command_names_is_read_from_a_folder(words: list[str], named: str | None) -> None:
    argv = ["vllm", "serve", "m", *words]
    assert draft_of(argv, V33) == named
    pointed = from_folder(argv, "/s/weights/org--draft/c")
    if named:
        before, after = (parse(one, V33).values["speculative_config"] for one in (argv, pointed))
        assert after == {**before, "model": "/s/weights/org--draft/c"}
        assert draft_of(pointed, V33) is None


def test_a_draft_without_a_pinned_commit_is_refused() -> None:
    trays = hosts(1)
    with pytest.raises(BringupError, match="no commit is pinned for the draft model nvidia/gpt-oss-120b-Eagle3-v3"):
        launched(Catalogue.of().find("gpt-oss-120b"), ASKED, trays, facts(trays, [4]))


def test_a_pinned_draft_is_downloaded_and_named_by_its_folder(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "recipes")
    recipe = tmp_path / "recipes/models/openai/gpt-oss-120b.yaml"
    pin = f"bringup:\n  drafts: {{nvidia/gpt-oss-120b-Eagle3-v3: {{revision: {COMMIT}, checkpoint_gb: 2}}}}\n"
    recipe.write_text(recipe.read_text().replace("bringup:\n", pin))
    trays = hosts(1)
    one = launched(Catalogue.of([tmp_path / "recipes"]).find("gpt-oss-120b"), ASKED, trays, facts(trays, [4]))
    engine = one.engines["tray1"]
    assert [(d.path, d.size) for d in engine.downloads][-1] == (engine.program.draft_dir, 2_000_000_000)
    assert engine.steps[-1].id == "weights nvidia/gpt-oss-120b-Eagle3-v3"
    assert str(engine.program.draft_dir).endswith(COMMIT)
    argv = one.decision.commands[0].argv
    assert json.loads(argv[argv.index("--speculative-config") + 1])["model"] == engine.program.draft_dir
