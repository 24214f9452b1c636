"""The plan of a small model on a small slice: nano, one layer, on four chips of v5e.

Command:  ./launch/local.sh pod_plan --config=pod_plan_small

Half a minute of one core. Meshes, lengths and backends that fit such a slice, to begin with for others of its kind:
those of `pod_plan` are for slices of 64 chips and more, and its kernels for heads of 128.
"""

import ml_collections

from configs import pod_plan


def get_config() -> ml_collections.ConfigDict:
    config = pod_plan.get_config()
    config.preset, config.depth, config.topology = "nano", 1, "v5e:2x2"
    config.mesh.fsdp, config.mesh.expert = 4, 1
    config.execution.update({"attention": "dense", "experts": "ragged", "remat": "none"})
    config.batch.update({"row_length": 128, "images_per_row": 1, "image_height": 96, "image_width": 96})
    config.decode.cache_length = 128
    config.decode.mesh.expert = config.decode.mesh.tensor = 1
    return config
