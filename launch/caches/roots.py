"""Where everything that compiles or tunes for a rank writes, below one folder. Pure.

Read in vLLM 0.33.0 and in the packages of its lock. Each is said, so that nothing of it lands in `/tmp` or in a home
folder of somebody's: what is compiled has the paths in it at which it was compiled. AITER_JIT_DIR is not among them:
where it is set AITER looks there alone, and leaves the modules that its package came with. It writes below HOME.
"""

from __future__ import annotations


def roots(folder: str) -> dict[str, str]:
    """The variables that keep all caches of a launch below `folder`."""
    return {
        "XDG_CACHE_HOME": folder,
        "VLLM_CACHE_ROOT": f"{folder}/vllm",  # torch.compile, AOT, FlashInfer's autotune, model infos
        "FLASHINFER_WORKSPACE_BASE": folder,  # it appends .cache/flashinfer/<version>/<architectures>
        "DG_JIT_CACHE_DIR": f"{folder}/vllm/deep_gemm",  # where vLLM itself would put it
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",  # until vLLM points it at the folder of the model
        "TORCH_EXTENSIONS_DIR": f"{folder}/torch_extensions",
        "TILELANG_CACHE_DIR": f"{folder}/tilelang",
        "HOME": folder,
    }
