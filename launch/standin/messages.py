"""What vLLM, torch, gloo, NCCL and the CUDA runtime say of what is wrong, in the process and phase that says it.

An entry is a line `name process phase then argument` (`-`: no argument; `~`: a blank in it) and its words, indented. A
name is the id of vLLM's message in the table of `diagnose`, or the end of the failure's.
"""

from __future__ import annotations

from collections.abc import Iterator

MESSAGES = r"""
argparse-choice main config raise deep_gemm_amxf4
    vllm serve: error: argument --moe-backend: invalid choice: '{argument}' (choose from 'auto', 'triton')
argparse-ambiguous main config raise -
    vllm serve: error: ambiguous option: --max-num could match --max-num-seqs, --max-num-batched-tokens
argparse-json main config raise {method:mtp}
    vllm serve: error: argument --speculative-config: Value {argument} cannot be converted to <function loads>.
pydantic main config raise -
    pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
tool-parser main config raise glm47_moe
    KeyError: 'invalid tool call parser: {argument} (chose from { glm45,glm47,hermes })'
reasoning-parser main config raise deepseek_v9
    KeyError: "Reasoning parser '{argument}' not found. Available parsers: deepseek_r1, qwen3"
tokenizer-mode main config raise glm5_next
    ValueError: No tokenizer registered for tokenizer_mode='{argument}'.
lb-modes main config raise -
    ValueError: Cannot use more than one data parallel load balancing mode. Use one of hybrid, external,
    multi-port.
hybrid-needs-local main config raise -
    ValueError: `--data-parallel-hybrid-lb` requires `--data-parallel-size-local` to be set
headless-hybrid main config raise -
    ValueError: data_parallel_hybrid_lb is not applicable in headless mode
headless-api main config raise 4
    ValueError: --api-server-count={argument} cannot be used with --headless (no API servers are started).
dense-external main config raise -
    ValueError: Non-MoE models do not support external data parallel mode. Run independent instances instead.
world-gpus main config raise 16
    ValueError: World size ({argument}) is larger than the number of available GPUs (8) in this node.
heads-tp main config raise 16
    ValueError: Total number of attention heads (40) must be divisible by tensor parallel size ({argument}).
max-len main config raise 99999
    ValueError: User-specified max_model_len ({argument}) is greater than the derived max_model_len (4096).
batched-lt-seqs main config raise 1024
    ValueError: max_num_batched_tokens (512) must be greater than or equal to max_num_seqs ({argument}).
quant-unknown main config raise fp5
    ValueError: Unknown quantization method: {argument}. Must be one of ['awq', 'fp8'].
quant-mismatch main config raise -
    ValueError: Quantization method specified in the model config (fp8) does not match the quantization method
    specified in the `quantization` argument (awq).
quant-noconfig main config raise awq
    ValueError: Cannot find the config file for {argument}
quant-cc engine join raise modelopt_fp4
    ValueError: The quantization method {argument} is not supported for the current GPU. Minimum capability:
    100.
bf16 worker device raise -
    ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your GPU has 7.5.
env-unknown main config warn VLLM_USE_V1
    Unknown vLLM environment variable detected: {argument}
arch-unsupported main config raise NewForCausalLM
    ValueError: Model architectures ['{argument}'] are not supported for now. Supported architectures: []
arch-inspect main config raise NewForCausalLM
    ValueError: Model architectures ['{argument}'] failed to be inspected. Please check the logs for more
    details.
arch-removed main config raise OldForCausalLM
    ValueError: Model architecture {argument} was supported in vLLM until v0.10.2, and is not supported anymore.
arch-plugin main config raise FarForCausalLM
    ValueError: Model architecture {argument} is not supported in-tree anymore. Please install the plugin at
    https://code.invalid/plugin if you want to use this model.
model-path main config raise /models/nothing
    ValueError: Invalid repository ID or local directory specified: '{argument}'.
no-weights worker load raise /models/empty
    RuntimeError: Cannot find any model weights with `{argument}`
trust-remote main config raise -
    ValueError: The repository contains custom code which must be executed to load the model. Please pass the
    argument `trust_remote_code=True` to allow custom code to be run.
hf-gated main config raise org/model
    huggingface_hub.errors.GatedRepoError: 401 Client Error. Access to model {argument} is restricted.
hf-offline main config raise -
    huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder for the
    specified revision.
no-kernel-image worker device raise -
    torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device
nvml-mismatch main config raise -
    pynvml.NVMLError_LibRmVersionMismatch: Driver/library version mismatch
gpu-lost worker request raise -
    torch.AcceleratorError: CUDA error: unspecified launch failure
rank-bounds worker device raise 4
    ValueError: local_rank {argument} is out of bounds for 4 visible devices
mamba-blocks worker capture raise 1024
    ValueError: max_num_seqs ({argument}) exceeds available Mamba cache blocks (296).
mem-profile worker profile raise -
    AssertionError: Error in memory profiling. Initial free memory 100.10 GiB, current free memory 120.00 GiB.
shm worker device raise psm_3f2a
    OSError: [Errno 28] No space left on device: '/dev/shm/{argument}'
nofile worker load raise /proc/stat
    OSError: [Errno 24] Too many open files: '{argument}'
config-mismatch main config raise 1
    RuntimeError: Configuration mismatch detected for engine {argument}. All DP workers must have the same
    configuration.
coordinator main config raise -
    RuntimeError: DP Coordinator process failed to report ZMQ addresses within timeout=120 seconds.
startup-failed-ep main config raise 10.0.0.9:13345
    RuntimeError: Failed to bind to tcp://{argument}
zmq-inuse main config raise 10.0.0.9:13345
    zmq.error.ZMQError: Address already in use (addr='tcp://{argument}')
zmq-nodev main config raise head:13345
    zmq.error.ZMQError: No such device (addr='tcp://{argument}')
cannot-assign engine join raise 10.0.0.9:13345
    zmq.error.ZMQError: Cannot assign requested address (addr='tcp://{argument}')
port-inuse main config raise -
    OSError: [Errno 98] Address already in use
unexpected-rank main config raise 9
    RuntimeError: Message from engine with unexpected data parallel rank: {argument}
store-timeout worker device raise 10.0.0.9
    torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect
    to ({argument}, 29501).
gloo-mesh engine join raise 10.0.0.9
    RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out connecting:
    SO_ERROR: No route to host, remote=[{argument}]:41233
gloo-loopback engine join raise -
    RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out connecting:
    SO_ERROR: Connection refused, remote=[127.0.1.1]:41233
gloo-timeout engine request raise 1800000
    RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting {argument}ms for recv operation to
    complete
rpc-timeout engine request raise execute_model
    TimeoutError: RPC call to {argument} timed out.
attn-invalid worker load raise FLASHMLA
    ValueError: Selected backend AttentionBackendEnum.{argument} is not valid for this configuration. Reason:
    ['kv_cache_dtype not supported']
attn-none worker load raise -
    ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=16).
fi-disabled worker load warn -
    FlashInfer kernels are disabled: flashinfer-cubin is not installed and nvcc was not found.
jit-compile worker compile raise sampling
    RuntimeError: Error building extension '{argument}': ninja: build stopped: subcommand failed.
aot-load worker compile raise 3f2a
    FileNotFoundError: [Errno 2] No such file or directory:
    '/c/torch_compile_cache/torch_aot_compile/{argument}/rank_0_0/model'
compile-cache worker compile raise -
    RuntimeError: vLLM failed to compile the model. The most likely reason for this is that a previous
    compilation failed, leading to a corrupted compilation artifact.
cold-race worker compile raise -
    torch.AcceleratorError: CUDA error: invalid argument
autotune-skew worker autotune raise -
    RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Application timeout caused pair closure
numactl engine join raise -
    RuntimeError: numactl is required for NUMA binding but was not found in PATH.
numa-detect engine join raise -
    RuntimeError: NUMA binding was requested, but vLLM could not detect the GPU-to-NUMA topology.
numa-size engine join raise 4
    ValueError: GPU index {argument} exceeds numa_bind_nodes size 4.
glibc main config raise 2.34
    ImportError: /lib/libc.so.6: version `GLIBC_{argument}' not found (required by vllm/_C.abi3.so)
undefined-symbol main config raise _ZN3c106detail23torchInternalAssertFail
    ImportError: vllm/_C.abi3.so: undefined symbol: {argument}
compat-803 worker device raise -
    RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver /
    cuda driver combination
fwcompat-804 worker device raise -
    RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on
    non supported HW
kfd worker device raise Permission~denied
    RuntimeError: Unable to open /dev/kfd read-write: {argument}
imex-notperm worker device raise -
    RuntimeError: CUDA_ERROR_NOT_PERMITTED: operation not permitted, in cuMemCreate
fabric-ipc worker device raise -
    RuntimeError: Failed: CUDA error csrc/deep_ep.cpp:185 'invalid resource handle'
nvshmem worker device raise -
    RuntimeError: nvshmem_transport_init: Unable to initialize any transports. returning error.
memlock worker device raise -
    RuntimeError: NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory
gid-empty worker device raise -
    RuntimeError: NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev mlx5_2:1
nccl-error12 worker request raise -
    RuntimeError: NCCL WARN NET/IB : Got completion from peer 10.0.0.9<4> with error 12, opcode 0
loc-len worker request raise -
    RuntimeError: NET/IB : Got completion from peer 10.0.0.9<4> with status=IBV_WC_LOC_LEN_ERR(1)
tp-block worker load raise 192
    ValueError: Weight output_partition_size = {argument} is not divisible by weight quantization block_n = 128.
deepgemm worker load raise -
    RuntimeError: DeepGEMM backend is not available or outdated. Please install or update the `deep_gemm`
    package.
pthread worker load raise -
    RuntimeError: can't start new thread
noexec worker compile raise /tmp/torchinductor
    ImportError: {argument}/kernel.so: failed to map segment from shared object
stale-handle worker compile raise /shared/triton
    OSError: [Errno 116] Stale file handle: '{argument}/kernel.json'
no-template engine request raise -
    ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat
    template.
aiter-lock worker compile hang /root/.aiter/jit/build/lock_module_gemm
    [aiter] waiting for baton release at {argument}
nccl-stuck worker device hang 2.28.3
    vLLM is using nccl=={argument}
"""


def told() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Each entry: name, process, phase, then, argument, words."""
    entries: list[list[str]] = []
    for line in MESSAGES.strip().splitlines():
        if line.startswith(" "):
            entries[-1].append(line.strip())
        else:
            entries.append([line])
    for head, *words in entries:
        name, process, phase, then, argument = head.split()
        yield name, process, phase, then, "" if argument == "-" else argument.replace("~", " "), " ".join(words)
