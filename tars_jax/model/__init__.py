"""The policy: configs, vision, decoder, experts, heads, sharding, tokenizer."""
