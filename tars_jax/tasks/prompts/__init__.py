"""Prompts of data sets: records in the forms that others write, as what a policy is asked and what it is held to."""

from tars_jax.tasks.prompts.dataset import PromptSet, open_prompts
from tars_jax.tasks.prompts.records import Form, Message, Prompt, read_prompt

__all__ = ["Form", "Message", "Prompt", "PromptSet", "open_prompts", "read_prompt"]
