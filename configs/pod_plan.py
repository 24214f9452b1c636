"""What a slice of TPUs will say, without one.

Command:  ./launch/local.sh pod_plan --config.preset=ui-tars-2 --config.topology=v5p:8x8x8

Compiles the real PPO policy update, value update and decode step ahead of time for the topology, and writes plan.json
and plan.md into the run directory. Needs the extra tars_jax[pod] (the TPU compiler, no TPU).
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""
    config.preset = "nano"
    config.depth = 0  # decoder layers; 0: the preset's. Fewer do not compile faster, but show what one layer costs
    config.topology = "v5e:2x2"  # CHIP:AxB or CHIP:AxBxC
    config.mesh = ml_collections.ConfigDict({"data": 1, "fsdp": 0, "expert": 1, "tensor": 1})  # 0: what is left
    config.batch = ml_collections.ConfigDict(
        {"rows": 0, "row_length": 256, "images_per_row": 1, "image_height": 96, "image_width": 96}  # 0 rows: one a way
    )
    config.decode = ml_collections.ConfigDict(
        {"slots": 0, "cache_length": 256, "mesh": {"data": 0, "fsdp": 1, "expert": 1, "tensor": 1}}  # 0 slots: 8 a way
    )
    config.optimiser = "adamw"
    config.execution = ml_collections.ConfigDict(
        {"remat": "full", "attention": "splash", "experts": "megablox", "travel": "kernels", "head_chunk": 2048}
    )
    config.dtype = "bfloat16"  # of activations, the cache and the engine's parameters
    config.matmul_efficiency = 0.8  # share of the peak that matrix products are assumed to reach
    config.programs = ("policy update", "value update", "decode step")
    config.keep_text = False  # also write the compiled programs
    return config
