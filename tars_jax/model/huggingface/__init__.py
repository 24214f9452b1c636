"""Open weights of the Qwen3-VL and Qwen2.5-VL families, as `transformers` keeps them, to and from our parameters."""

from tars_jax.model.huggingface.checkpoint_export import export_checkpoint
from tars_jax.model.huggingface.checkpoint_import import import_checkpoint
from tars_jax.model.huggingface.configuration import read_config

__all__ = ["export_checkpoint", "import_checkpoint", "read_config"]
