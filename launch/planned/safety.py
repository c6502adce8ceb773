"""What an endpoint lets others do, said in every plan: no key, code of the model, addresses that it fetches. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from launch.choosing.reasons import Reason
from launch.choosing.settings import contradiction
from launch.planned.lora import adapters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.choosing.choice import Choice
    from launch.request import Request
    from launch.vllm_args.parse import Parsed

SOURCE = "frontier deployment handbook 8.4"
UNQUANTISED = ("", "bf16", "bfloat16", "fp16", "float16", "fp32", "float32")


def safety_reasons(
    choice: Choice, request: Request, said: Parsed, typed: Mapping[str, str], recipe: Parsed
) -> Iterator[Reason]:
    """`said`: the command with everything that was set; `recipe`: as the recipe has it. `typed`: options by dest."""
    yield _key(request)
    if said.get("trust_remote_code") and "trust_remote_code" not in typed:
        commit = choice.found.recipe.bringup.revisions.get(choice.variant)
        revision = choice.revision or (commit.revision if commit else None)
        pinned = (("commit", revision),) if revision else ()
        rule = "the recipe says that the model needs it: Python of its repository runs on every host"
        yield Reason("--trust-remote-code", "on", rule, pinned, "recipe")
    if recipe.get("trust_remote_code") and not said.get("trust_remote_code"):
        rule = "the recipe says that the model needs it: without it the model may not load"
        yield Reason("--trust-remote-code", "off", rule, source=typed.get("trust_remote_code", "typed"), warns=True)
    if _fetches(choice, said):
        rule = "a request may name any URL, and the server fetches it from inside the network: --media-domains"
        yield Reason("media domains", "all", rule, source=SOURCE, warns=True)
    if request.wanted.lora_dynamic:
        rule = "whoever reaches the endpoint may load adapters from the disk of the host"
        keyed = request.wanted.api_key is not None
        yield Reason("--lora-loading", "dynamic", rule, source=SOURCE, warns=not keyed)


def _key(request: Request) -> Reason:
    key = request.wanted.api_key
    if key is None:
        rule = "whoever reaches the port may ask: --api-key generate, or a gateway in front"
        return Reason("API key", "none", rule, source=SOURCE)
    rule = "clients send it as a bearer token; a file that only the user of the ranks reads holds it on the hosts"
    return Reason("API key", f"*** ({key.origin})", rule, (("digest", key.digest),), SOURCE)


def _fetches(choice: Choice, said: Parsed) -> bool:
    is_multimodal = bool({"multimodal", "vision", "omni"} & set(choice.found.recipe.meta.tasks))
    return is_multimodal and not (said.get("allowed_media_domains") or said.get("language_model_only"))


def refuse_contradicted_planned(choice: Choice, request: Request, served_name: str) -> None:
    """Raise `BadInput` for a planned setting that the variant or the deployment's name contradicts."""
    precision = choice.found.recipe.variant(choice.variant).precision or ""
    for one in request.settings:
        dest = one.flag.removeprefix("--").replace("-", "_")
        if dest == "quantization" and precision.lower() not in UNQUANTISED and one.value != precision:
            raise contradiction(one, f"the variant {choice.variant} in {precision}, quantised as it is", "the recipe")
        if dest == "lora_modules" and one.typed and served_name in adapters_of((one.value or "").replace(" ", ",")):
            raise contradiction(one, f"{served_name}, the name of the model itself", "--name, or the recipe's name")
