"""A checkout with one recipe for each kind of fault; the public catalogue itself where it is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput, ExitCode
from launch.catalogue.find import Catalogue
from launch.catalogue.validate import Judged, is_refused, lines, summary, validate, version_for
from launch.verbs import recipes as verbs

V33 = "0.33.0"
PUBLIC = Path(__file__).resolve().parents[4] / "../shared/recipes"
HEAD = "meta: {hardware: {h200: verified, b200: verified}}\nvariants: {default: {vram_minimum_gb: 10}}\n"
TP = "compatible_strategies: [single_node_tp]\n"
RECIPES = {
    "fine": f"{HEAD}{TP}model: {{model_id: org/m, base_args: [--max-model-len, 4096]}}\n",
    "removed-key": f"{HEAD}{TP}model: {{model_id: org/m}}\n"
    "hardware_overrides: {blackwell: {extra_args: [--attention_config.use_fp4_indexer_cache, true]}}\n",
    "renamed-flag": f"{HEAD}{TP}model: {{model_id: org/m}}\n"
    "features: {tools: {args: [--tool-call-parser-plugin, /p.py]}}\n",
    "opt-in": f"{HEAD}{TP}model: {{model_id: org/m}}\n"
    "features: {odd: {args: [--no-such-flag]}, tools: {args: [--max-num-seqs, 8]}}\nopt_in_features: [odd]\n",
    "dead-env": f"{HEAD}{TP}model: {{model_id: org/m, base_env: {{VLLM_USE_FLASHINFER_MOE_FP4: 1}}}}\n",
    "pinned-tp": f"{HEAD}compatible_strategies: [multi_node_tp]\nmodel: {{model_id: org/m}}\n"
    "hardware_overrides: {hopper: {extra_args: [--tensor-parallel-size, 2]}}\n",
    "template": f"{HEAD}{TP}model: {{model_id: org/m, base_args: [--chat-template, examples/x.jinja]}}\n",
    "plugin-name": f"{HEAD}{TP}model: {{model_id: org/m, base_args: [--quantization, ascend]}}\n",
    "constraint": f"{HEAD}{TP}model: {{model_id: org/m}}\n"
    "bringup: {constraints: [{why: too long, source: s, hardware: [h200], at_most: {--max-model-len: 9}}]}\n",
    "omni": f"{HEAD}model: {{model_id: org/m}}\n".replace("meta: {", "meta: {tasks: [omni], "),
    "broken": "meta: [\n",
}
STRATEGIES = {
    "single_node_tp": "{deploy_type: single_node, parallel_flag: --tensor-parallel-size}",
    "multi_node_tp": "{deploy_type: multi_node, parallel_flag: --tensor-parallel-size}",
}
TAXONOMY = """
hardware_profiles:
  h200: {brand: NVIDIA, generation: hopper, gpu_count: 8, vram_gb: 1128}
  b200: {brand: NVIDIA, generation: blackwell, gpu_count: 8, vram_gb: 1440}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in RECIPES.items():
        write(tmp_path / f"models/org/{name}.yaml", text)
    for name, text in STRATEGIES.items():
        write(tmp_path / f"strategies/{name}.yaml", f"name: {name}\n" + text.strip("{}").replace(", ", "\n") + "\n")
    write(tmp_path / "taxonomy.yaml", TAXONOMY)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def judged(folder: Path, *only: str) -> dict[str, Judged]:
    catalogue = Catalogue.of([folder], ours=False)
    if only:
        paths = catalogue.folders[0].recipe_paths
        for id_ in set(paths) - set(only):
            del paths[id_]
    return {one.recipe: one for one in validate(catalogue, V33, lambda _done, _of: None)}


def test_each_fault_is_found_with_its_place_and_what_instead(checkout: Path) -> None:
    found = judged(checkout)
    assert found["org/fine"].faults == ()
    (fault,) = found["org/removed-key"].faults
    assert fault.what == "--attention-config.use_fp4_indexer_cache"
    assert fault.hardware == {"b200"}
    assert fault.instead == "--attention-config.indexer_kv_dtype mxfp4, by a deploy itself"
    assert (found["org/removed-key"].refused, found["org/removed-key"].commands) == (1, 2)
    assert found["org/renamed-flag"].faults[0].instead == "--tool-parser-plugin, by a deploy itself"
    (fault,) = found["org/opt-in"].faults
    assert fault.also == {"odd"}, "only with the feature that is off by default"
    (fault,) = found["org/pinned-tp"].faults
    assert (fault.what, fault.nodes, fault.hardware) == ("--nnodes 4", {4}, {"h200"})
    assert "relative path" in found["org/template"].faults[0].why
    assert found["org/plugin-name"].faults[0].what == "--quantization ascend"
    (fault,) = found["org/constraint"].faults
    assert (fault.what, fault.hardware) == ("--max-model-len is not given", {"h200"})
    assert "vllm-omni" in found["org/omni"].skipped
    assert "broken.yaml" in found["org/broken"].unreadable


def test_variables_that_nothing_reads_are_told_and_refuse_nothing(checkout: Path) -> None:
    one = judged(checkout)["org/dead-env"]
    assert not is_refused(one)
    assert one.faults[0].only_warns
    assert "not read: VLLM_USE_FLASHINFER_MOE_FP4" in "\n".join(lines(one))


def test_the_summary_counts(checkout: Path) -> None:
    text = summary(judged(checkout).values(), V33)
    assert text.startswith("11 recipes, ")
    assert "of 8 recipes refused, 1 recipes set variables" in text


def test_the_verb_ends_with_4_when_something_is_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.recipes_validate(recipes=str(checkout), vllm=V33, json=False) is ExitCode.CHECK_FAILED
    assert "org/removed-key: 1 of 2 commands refused" in capsys.readouterr().out
    for path in (checkout / "models/org").iterdir():
        if path.stem not in {"fine", "dead-env"}:
            path.unlink()
    assert verbs.recipes_validate(recipes=str(checkout), vllm=V33, json=True) is ExitCode.DONE


def test_a_version_without_a_schema_is_bad_input() -> None:
    assert version_for("") == V33
    with pytest.raises(BadInput, match=r"0\.31\.0"):
        version_for("0.31.0")


def test_our_own_recipes_have_no_fault() -> None:
    found = list(validate(Catalogue.of(), "", lambda _done, _of: None))
    assert len(found) >= 15
    assert [text for one in found for text in lines(one)] == []


KNOWN = (
    ("deepseek-ai/DeepSeek-V4-Flash", "--attention-config.use_fp4_indexer_cache"),
    ("deepseek-ai/DeepSeek-V4-Flash", "--attention-backend B12X_MLA_SPARSE"),
    ("inclusionAI/Ring-1T-FP8", "--compilation-config.use_inductor"),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "--tool-call-parser-plugin"),
    ("MiniMaxAI/MiniMax-M2", "--nnodes 4"),
    ("moonshotai/Kimi-K3", "--data-parallel-hybrid-lb"),
    ("moonshotai/Kimi-K3", "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4"),
    ("Google/gemma-4-E2B-it", "--chat-template examples/tool_chat_template_gemma4.jinja"),
    ("openai/gpt-oss-120b", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"),
)


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="no checkout of the public catalogue beside this one")
def test_known_faults_of_the_public_catalogue_are_found() -> None:
    ids = {id_ for id_, _ in KNOWN} & set(Catalogue.of([PUBLIC], ours=False).ids())
    found = judged(PUBLIC, *ids)
    missing = [
        (id_, what) for id_, what in KNOWN if id_ in ids and not any(fault.what == what for fault in found[id_].faults)
    ]
    assert missing == []
