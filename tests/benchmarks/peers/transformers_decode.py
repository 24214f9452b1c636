"""The side of transformers in `decode_tokens.py`: `Qwen3ForCausalLM.generate` with the shared weights, in float32.

As it comes: its SDPA attention, a cache that grows with the answer, and no compilation.
"""

from __future__ import annotations

import os

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from tests.benchmarks.peers.decoding import Answers, Turns
from tests.benchmarks.peers.setting import PAD, Decoding, Shape, prompts, weights
from tests.benchmarks.peers.turns import serve


def model(shape: Shape) -> Qwen3ForCausalLM:
    """With every parameter set, outputs first, as torch has them."""
    config = Qwen3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.mlp_width,
        num_hidden_layers=shape.depth,
        num_attention_heads=shape.query_heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        tie_word_embeddings=False,
        max_position_embeddings=Decoding().length,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=PAD,
        dtype="float32",
    )
    given = weights(shape)
    width = shape.width
    state = {
        "model.embed_tokens.weight": given["embed"],
        "model.norm.weight": given["norm"],
        "lm_head.weight": given["vocabulary_head"].T,
    }
    for layer in range(shape.depth):
        parts = {
            "input_layernorm": given["attention_norm"][layer],
            "self_attn.q_proj": given["query"][layer].reshape(width, -1).T,
            "self_attn.k_proj": given["key"][layer].reshape(width, -1).T,
            "self_attn.v_proj": given["value"][layer].reshape(width, -1).T,
            "self_attn.q_norm": given["query_norm"][layer],
            "self_attn.k_norm": given["key_norm"][layer],
            "self_attn.o_proj": given["out"][layer].reshape(-1, width).T,
            "post_attention_layernorm": given["mlp_norm"][layer],
            "mlp.gate_proj": given["gate"][layer].T,
            "mlp.up_proj": given["up"][layer].T,
            "mlp.down_proj": given["down"][layer].T,
        }
        state |= {f"model.layers.{layer}.{name}.weight": array for name, array in parts.items()}
    made = Qwen3ForCausalLM(config).eval()
    made.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in state.items()})
    return made


class Side:
    """The model and its prompts."""

    def __init__(self) -> None:
        self._model, given = model(Shape()), Decoding()
        self._prompts = torch.from_numpy(prompts(given).astype(np.int64))
        self._mask = torch.ones_like(self._prompts)

    def answer(self, tokens: int, *, greedy: bool, seed: int) -> Answers:
        """All prompts in one batch; log-probabilities only where it is greedy."""
        torch.manual_seed(seed)
        how = {"do_sample": False} if greedy else {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
        output = self._model.generate(
            self._prompts,
            attention_mask=self._mask,
            max_new_tokens=tokens,
            use_cache=True,
            eos_token_id=None,
            pad_token_id=PAD,
            return_dict_in_generate=True,
            output_logits=greedy,
            **how,
        )
        written = output.sequences[:, self._prompts.shape[1] :]
        if not greedy:
            return Answers(written.numpy(), None)
        log_probs = torch.stack(output.logits, dim=1).log_softmax(-1).gather(-1, written[..., None])[..., 0]
        return Answers(written.numpy(), log_probs.numpy())


def main() -> None:
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    serve(Turns(Side().answer))


if __name__ == "__main__":
    main()
