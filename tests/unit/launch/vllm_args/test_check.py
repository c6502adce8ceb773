from __future__ import annotations

import pytest

from launch.vllm_args import Kind, check

V33 = "0.33.0"
GANG = "--data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-address 10.0.0.1"
MULTI_PORT = "--data-parallel-multi-port-external-lb"
HYBRID = f"{GANG} --data-parallel-hybrid-lb"


def found(
    words: str | list[str], model: str = "org/m", env: dict[str, str] | None = None
) -> list[tuple[Kind, str, str]]:
    argv = words.split() if isinstance(words, str) else words
    refusals = check(["vllm", "serve", model, *argv], env or {}, V33)
    return [(one.kind, one.token, one.nearest) for one in refusals]


@pytest.mark.parametrize(
    "words",
    [
        "",
        GANG,
        f"{GANG} --headless --data-parallel-start-rank 4",
        HYBRID,
        f"{HYBRID} --data-parallel-start-rank 4",
        f"{HYBRID} --data-parallel-start-rank 4 --api-server-count 4",
        "--data-parallel-size 8 --data-parallel-rank 3 --data-parallel-address h",
        "--data-parallel-size 8 --data-parallel-external-lb --data-parallel-rank 3 --data-parallel-address h",
        "--data-parallel-size 8 --data-parallel-size-local 8 --data-parallel-start-rank 0",
        "--tensor-parallel-size 16 --nnodes 2 --node-rank 1 --master-addr h --headless",
        "--data-parallel-size 16 --nnodes 2 --node-rank 1 --master-addr h --headless",
        f"{GANG} --data-parallel-multi-port-external-lb",
        "--tensor-parallel-size 8 --decode-context-parallel-size 8",
    ],
)
def test_layouts_that_vllm_takes(words: str) -> None:
    assert found(words) == []


@pytest.mark.parametrize(
    ("words", "token"),
    [
        (f"{HYBRID} --data-parallel-external-lb --data-parallel-rank 0", "--data-parallel-size-local 4"),
        (f"{GANG} --headless --api-server-count 2", "--headless --api-server-count"),
        (f"{HYBRID} --headless", "--headless --data-parallel-hybrid-lb"),
        ("--data-parallel-size 8 --data-parallel-hybrid-lb", "--data-parallel-hybrid-lb"),
        (
            "--data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-hybrid-lb --data-parallel-address h",
            "--data-parallel-hybrid-lb",
        ),
        (
            "--data-parallel-size 4 --data-parallel-size-local 4 --data-parallel-hybrid-lb",
            "--data-parallel-hybrid-lb",
        ),
        (f"{GANG} --data-parallel-start-rank 4", "--data-parallel-start-rank"),
        ("--data-parallel-size 8 --data-parallel-start-rank 4", "--data-parallel-start-rank"),
        (f"{HYBRID} --data-parallel-start-rank 5", "--data-parallel-start-rank 5"),
        ("--data-parallel-size 4 --data-parallel-size-local 8", "--data-parallel-size-local 8"),
        ("--data-parallel-size 8 --data-parallel-external-lb", "--data-parallel-external-lb"),
        ("--data-parallel-size 8 --data-parallel-size-local 4", "--data-parallel-address"),
        ("--tensor-parallel-size 16 --nnodes 2 --node-rank 0", "--master-addr"),
        ("--tensor-parallel-size 2 --nnodes 4 --node-rank 0 --master-addr h", "--nnodes 4"),
        ("--tensor-parallel-size 4 --nnodes 2 --node-rank 2 --master-addr h", "--node-rank 2"),
        (
            "--tensor-parallel-size 4 --nnodes 2 --master-addr h --data-parallel-backend ray",
            "--nnodes 2",
        ),
        ("--tensor-parallel-size 4 --decode-context-parallel-size 8", "--decode-context-parallel-size 8"),
        ("--enable-eplb", "--enable-eplb"),
        ("--numa-bind-nodes 0 1", "--numa-bind-nodes"),
        ("--numa-bind --numa-bind-nodes 0 --tensor-parallel-size 4", "--numa-bind-nodes"),
        ("--enable-fault-tolerance", "--enable-fault-tolerance"),
        ("--enable-auto-tool-choice", "--enable-auto-tool-choice"),
        ("--enable-log-outputs", "--enable-log-outputs"),
        ("--grpc --grpc-port 1", "--grpc --grpc-port"),
        ("--headless --tensor-parallel-size 4", "--data-parallel-address"),
        (f"{GANG} {MULTI_PORT} --port 9255", "--data-parallel-supervisor-port 9256"),
        (f"{GANG} {MULTI_PORT} --uds /run/v", f"{MULTI_PORT} --uds"),
        (f"{GANG} {MULTI_PORT} --api-server-count 4", f"{MULTI_PORT} --api-server-count"),
    ],
)
def test_options_that_exclude_or_need_each_other(words: str, token: str) -> None:
    assert (Kind.CONFLICT, token) in [(kind, seen) for kind, seen, _ in found(words)]


@pytest.mark.parametrize(
    ("words", "kind", "token", "nearest"),
    [
        (
            ["--attention-config.use_fp4_indexer_cache", "True"],
            Kind.UNKNOWN_KEY,
            "--attention-config.use_fp4_indexer_cache",
            "",
        ),
        (
            ["--attention-config", '{"bakend":"FLASHINFER"}'],
            Kind.UNKNOWN_KEY,
            "--attention-config.bakend",
            "--attention-config.backend",
        ),
        (
            ["--compilation-config", '{"use_inductor":true}'],
            Kind.UNKNOWN_KEY,
            "--compilation-config.use_inductor",
            "--compilation-config.use_inductor_graph_partition",
        ),
        (
            ["-cc.pass_config.fuse_norm_qant=True"],
            Kind.UNKNOWN_KEY,
            "-cc.pass_config.fuse_norm_qant",
            "-cc.pass_config.fuse_norm_quant",
        ),
        (
            ["--speculative-config", '{"method":"dsprk","num_speculative_tokens":5}'],
            Kind.BAD_CHOICE,
            '--speculative-config.method "dsprk"',
            "--speculative-config.method dspark",
        ),
        (
            ["--speculative-config", '{"method":"mtp","num_speculative_tokens":"many"}'],
            Kind.BAD_TYPE,
            '--speculative-config.num_speculative_tokens "many"',
            "",
        ),
        (
            ["--attention-config", '{"backend":"FLASHMAL"}'],
            Kind.BAD_CHOICE,
            '--attention-config.backend "FLASHMAL"',
            "--attention-config.backend FLASHMLA",
        ),
        (["--tokenizer-mode", "glm5_next"], Kind.UNKNOWN_NAME, "--tokenizer-mode glm5_next", "--tokenizer-mode auto"),
        (
            ["--tool-call-parser", "glm47_moe"],
            Kind.UNKNOWN_NAME,
            "--tool-call-parser glm47_moe",
            "--tool-call-parser glm47",
        ),
        (["--kv-cache-dtype", "fp9"], Kind.UNKNOWN_NAME, "--kv-cache-dtype fp9", "--kv-cache-dtype fp8"),
        (
            ["--attention-backend", "B12X_MLA_SPARSE"],
            Kind.UNKNOWN_NAME,
            "--attention-backend B12X_MLA_SPARSE",
            "--attention-backend B12X",
        ),
        (["--quantization", "ascend"], Kind.UNKNOWN_NAME, "--quantization ascend", ""),
        (
            ["--kv-transfer-config", '{"kv_connector":"NixlConector","kv_role":"kv_both"}'],
            Kind.UNKNOWN_NAME,
            "--kv-transfer-config.kv_connector NixlConector",
            "--kv-transfer-config.kv_connector NixlConnector",
        ),
        (
            ["--chat-template", "examples/x.jinja"],
            Kind.UNPROVEN,
            "--chat-template examples/x.jinja",
            "an absolute path to a copy you ship",
        ),
        (["--config", "c.yaml"], Kind.UNPROVEN, "--config", "the options themselves on the command line"),
    ],
)
def test_what_the_parser_leaves_open(words: list[str], kind: Kind, token: str, nearest: str) -> None:
    assert found(words) == [(kind, token, nearest)]


@pytest.mark.parametrize(
    ("item", "ok"), [("a=/p", True), ('{"name":"a","path":"/p"}', True), ("a", False), ("[]", False)]
)
def test_lora_modules(item: str, *, ok: bool) -> None:
    assert (found(["--lora-modules", item]) == []) is ok


@pytest.mark.parametrize(
    "words",
    [
        [
            "--attention-config",
            '{"backend":"flashinfer","indexer_kv_dtype":"mxfp4","use_prefill_query_quantization":"True"}',
        ],
        ["--quantization-config.moe.activation", "mxfp8"],
        [
            "--speculative-config",
            '{"method":"dspark","num_speculative_tokens":5,"draft_sample_method":"probabilistic"}',
        ],
        ["-cc.mode=none", "-cc.cudagraph_mode=none"],
        ["--compilation-config", '{"mode": 3, "cudagraph_mode": "FULL_DECODE_ONLY"}'],
        ["--tool-call-parser", "mine", "--tool-parser-plugin", "/opt/mine.py"],
        ["--attention-backend", "flashinfer"],
        ["--reasoning-parser", "None"],
        ["--distributed-executor-backend", "my.package.Executor"],
        ["--chat-template", "/opt/x.jinja"],
        ["--chat-template", "{{ messages }}"],
        ["--kv-transfer-config", '{"kv_connector":"Mine","kv_connector_module_path":"mine","kv_role":"kv_both"}'],
    ],
)
def test_valid_json_names_and_plugins(words: list[str]) -> None:
    assert found(words) == []


def test_parsers_of_another_family() -> None:
    words = "--tool-call-parser kimi_k3 --enable-auto-tool-choice --reasoning-parser deepseek_v4"
    assert [token for _, token, _ in found(words, "deepseek-ai/DeepSeek-V4-Pro")] == ["--tool-call-parser kimi_k3"]
    assert found(words.replace("kimi_k3", "hermes"), "deepseek-ai/DeepSeek-V4-Pro") == []
    assert found(words, "org/DeepSeek-Distill-Kimi") == []
    assert found(words, "org/other") == []


def test_an_environment_variable_that_nothing_reads_is_a_warning() -> None:
    env = {"VLLM_DSV4_MEGA_FP8_COMBINE": "1", "VLLM_HOST_IP": "10.0.0.1", "PATH": "/bin"}
    refusals = check(["m"], env, V33)
    assert [(one.kind, one.token, one.warns) for one in refusals] == [
        (Kind.UNREAD_ENV, "VLLM_DSV4_MEGA_FP8_COMBINE", True)
    ]


def test_runtime_lora_needs_one_api_server() -> None:
    env = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
    assert found("--data-parallel-size 2", env=env)[0][1] == "--api-server-count"
    assert found("--data-parallel-size 2 --api-server-count 1", env=env) == []
