"""What a slice of TPUs will say, without one.

Command:  ./launch/local.sh pod_plan --config.preset=ui-tars-2 --config.topology=v5p:8x8x8

Compiles the real PPO policy update, value update, decode step and reading of new tokens ahead of time for the topology,
and writes plan.json and plan.md into the run directory; --config.page=docs/pod_plans.md puts the plan into that page
too. Needs the TPU compiler, no TPU: it comes with the extra tars_jax[pod], which the development environment has.

An update of ui-tars-2 takes three to eight minutes of one core or two, a program of its engine one. docs/pod_plans.md
has what came out, with all 61 layers and images. The updates fit with 56% of the memory of a v5p, since a layer's input
and attention wait on the host, 54 GiB a chip; their utilization is estimated at 46 to 57%, depending on how much of the
memory traffic and of the wires hides behind products, which are assumed to reach 80% of the peak. The goal was 45% with
headroom. With remat=full they took 91% at 38 to 50%, in an earlier version.

The 30B preset takes 99% of 256 chips of v6e at 31 to 56%, and 96% of 256 chips of v5e at 28 to 53% with windows of half
the length:

    ./launch/local.sh pod_plan --config.preset=qwen3-vl-30b-a3b --config.topology=v6e:16x16 --config.mesh.fsdp=16
        --config.decode.mesh.expert=16 --config.decode.mesh.tensor=1 --config.decode.slots=1024
    ./launch/local.sh pod_plan --config.preset=qwen3-vl-30b-a3b --config.topology=v5e:16x16 --config.mesh.fsdp=16
        --config.decode.mesh.expert=16 --config.decode.mesh.tensor=1 --config.decode.slots=512
        --config.batch.row_length=16384 --config.decode.cache_length=16384

A small one, nano on four chips of v5e (a minute and a half of one core); what is not given of meshes, lengths and
backends follows the slice and the model:

    ./launch/local.sh pod_plan --config.preset=nano --config.topology=v5e:2x2
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""
    config.preset = "ui-tars-2"
    config.depth = 0  # decoder layers; 0: the preset's. Fewer do not compile faster, but show what one layer costs
    config.topology = "v5p:8x8x8"  # CHIP:AxB or CHIP:AxBxC
    # 0: what the others leave; -1: 8 on a slice of 64 chips and more, else all of them. The share of the model's width
    # on one chip of fsdp should be a multiple of 128.
    config.mesh = ml_collections.ConfigDict({"data": 1, "fsdp": -1, "expert": 0, "tensor": 1})
    config.batch = ml_collections.ConfigDict(
        {
            "rows": 0,  # 0: one for each chip that holds rows
            "row_length": 0,  # 0: 32,768, or 1,024 of a model whose heads the kernels do not take
            "images_per_row": 5,
            "image_height": 0,  # 0: 704, or 96 of such a model
            "image_width": 0,  # 0: 1280, or 96
        }
    )
    config.decode = ml_collections.ConfigDict(
        {
            "slots": 0,  # 0: 8 for each chip that holds slots
            "cache_length": 0,  # 0: as row_length
            "new_tokens": 1024,  # that each slot reads, as many as it holds at most: a screenshot of 1280x704 is 880
            "mesh": {"data": 0, "fsdp": 1, "expert": -1, "tensor": -1},  # -1: 8 on 64 chips and more, else 1
        }
    )
    config.optimizer = "adamw"
    config.execution = ml_collections.ConfigDict(
        {
            "remat": "host",
            "attention": "",  # "": splash, or dense where the model's heads are no multiple of 128
            "experts": "",  # "": megablox, or ragged there
            "expert_communication": "weight_gather",
            "products": "plain",
            "cache": "rows",
            "head_chunk": 2048,
        }
    )
    config.dtype = "bfloat16"  # of activations, the cache and the engine's parameters
    config.matmul_efficiency = 0.8  # share of the peak that matrix products are assumed to reach
    config.programs = ("policy update", "value update", "decode step", "prefill")
    config.compiled = ".cache/pod_plan"  # folder of compiled programs, read again where nothing changed; "": none
    config.page = (
        ""  # a markdown file that also gets this plan, in the place of an earlier one of this preset and slice
    )
    return config
