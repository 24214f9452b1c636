"""Prompts of data sets: records in the forms that others write, as what a policy is asked and what it is held to."""

from tars_jax.tasks.prompts.dataset import PromptSet, open_prompts
from tars_jax.tasks.prompts.records import Message, PromptRecord, RecordForm, one_text, read_prompt
from tars_jax.tasks.prompts.row_split import RowSplit, Sides

__all__ = [
    "Message",
    "PromptRecord",
    "PromptSet",
    "RecordForm",
    "RowSplit",
    "Sides",
    "one_text",
    "open_prompts",
    "read_prompt",
]
