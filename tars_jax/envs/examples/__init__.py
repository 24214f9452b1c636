"""Small environments of one file each, as somebody brings one: `tars_jax.envs.examples.text_echo:TextEcho`.

Recipes that are shipped play them, and tests.
"""
