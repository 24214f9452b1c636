"""Rotary settings of a config.json: theta, the sections of time, row and column, and YaRN.

They stand in `rope_scaling` (transformers 4, theta beside it) or in `rope_parameters` (5). Of both the first counts, as
in transformers: users add it to what version 5 has saved, to stretch the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface.fields import CheckpointFields, json_object, three
from tars_jax.model.yarn import Yarn, attention_factor

_SECTIONS = {"qwen3_vl_moe": [24, 20, 20], "qwen3_vl": [24, 20, 20], "qwen2_5_vl": [16, 24, 24]}
MOST_POSITIONS = 2**31 - 1  # they are int32
_POSITIONS = {"qwen3_vl_moe": 128_000, "qwen3_vl": 128_000, "qwen2_5_vl": 32_768}


def read_rope(path: Path, text: Mapping[str, Any], kind: str, head_dim: int) -> dict[str, Any]:
    """The fields `rope_theta`, `rope_sections` and `rope_scaling` of a `ModelConfig`.

    Raises InputError that names file and field.
    """
    scaling, parameters = json_object(path, text, "rope_scaling"), json_object(path, text, "rope_parameters")
    said = text.get("rope_theta", parameters.get("rope_theta"))
    rope = CheckpointFields(path, scaling or parameters, {"rope_theta": said})
    form = rope.values.get("rope_type", rope.values.get("type", "default"))
    if form not in ("default", "mrope", "yarn"):
        raise InputError(f"{path}: the rotary positions must be of type default, mrope or yarn; got {form!r}")
    theta = rope.values["rope_theta"] or (1e6 if kind == "qwen2_5_vl" else None)
    sections = three(path, "mrope_section", rope.values.get("mrope_section", _SECTIONS[kind]))
    if not all(isinstance(section, int) and section >= 0 for section in sections):
        raise InputError(f"{path}: mrope_section must be three integers of 0 or more; got {list(sections)}")
    if kind != "qwen2_5_vl":
        # Interleaved, rows and columns get what lies within the head, however much was meant for them; time the rest.
        rows, columns = (len(range(axis, min(3 * sections[axis], head_dim // 2), 3)) for axis in (1, 2))
        sections = (head_dim // 2 - rows - columns, rows, columns)
    return {
        "rope_theta": CheckpointFields(path, {"rope_theta": theta}).positive("rope_theta"),
        "rope_sections": sections,
        "rope_scaling": _read_yarn(rope, text, kind) if form == "yarn" else None,
    }


def _read_yarn(rope: CheckpointFields, text: Mapping[str, Any], kind: str) -> Yarn:
    """YaRN's settings, with the defaults of transformers for those that are left out; the trained length may stand
    beside the settings, too."""
    name = "original_max_position_embeddings"
    longest = CheckpointFields(rope.path, text, {"max_position_embeddings": _POSITIONS[kind]}).size(
        "max_position_embeddings", most=MOST_POSITIONS
    )
    trained = CheckpointFields(rope.path, text, {name: rope.values.get(name, longest)}).size(name, most=MOST_POSITIONS)
    factor = rope.positive("factor", longest / trained)
    if factor < 1:
        raise InputError(f"{rope.path}: factor must be 1 or more; got {factor}")
    both = [rope.positive(scale) for scale in ("mscale", "mscale_all_dim") if rope.values.get(scale)]
    recommended = attention_factor(factor, *both) if len(both) == 2 else attention_factor(factor)
    return Yarn(
        factor=factor,
        trained_positions=trained,
        attention_factor=rope.positive("attention_factor", recommended),
        beta_fast=rope.positive("beta_fast", Yarn.beta_fast),
        beta_slow=rope.positive("beta_slow", Yarn.beta_slow),
        truncate=rope.flag("truncate", Yarn.truncate),
    )


def rope_fields(config: ModelConfig, kind: str) -> dict[str, Any]:
    """The fields of a text section that `read_rope` reads."""
    rope: dict[str, Any] = {"rope_type": "default", "mrope_section": list(config.rope_sections)}
    if kind != "qwen2_5_vl":
        rope["mrope_interleaved"] = True
    fields = {"rope_theta": config.rope_theta, "rope_scaling": rope}
    if (yarn := config.rope_scaling) is not None:
        rope |= {"rope_type": "yarn", "factor": yarn.factor, "attention_factor": yarn.attention_factor}
        rope |= {"beta_fast": yarn.beta_fast, "beta_slow": yarn.beta_slow, "truncate": yarn.truncate}
        rope["original_max_position_embeddings"] = yarn.trained_positions
        fields["max_position_embeddings"] = round(yarn.factor * yarn.trained_positions)
    return fields
