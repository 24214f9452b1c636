"""How busy one GPU is, and at what it could be busy at best.

Command:  ./launch/gpu_bench.sh

What came of it on one H200: docs/gpu.md. Layers held apart took more than 1.7 minutes to compile for a decode step of
28 layers, so that none has been timed; W4A8 has not been timed either.

Measures, each beside the ceilings of the same run: a large product and a copy; attention and the experts of one layer,
with the difference of their gradients from float32; the real PPO update of a dense and a mixture-of-experts policy of 1
to 2 billion active parameters (goal: 45% of the data sheet's bfloat16 rate); the engine's decode steps in bfloat16 and
in W4A8. Writes result.json and gpu_bench.md into the run directory, and a line of rows.jsonl for each entry as soon as
it is measured. An entry that fails, hangs or takes the process with it is a row with its error. The run ends after
`minutes`; the same command with --config.run=RUN goes on where it ended.

Without an accelerator, to see that all of it runs (its numbers mean nothing):
    ./launch/local.sh gpu_bench --config.size=tiny --config.warmups=1 --config.repeats=2
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
    config = ml_collections.ConfigDict()
    config.seed = 0  # of parameters and tokens
    config.run = ""
    config.size = "full"  # full fills a device of 141 GB; tiny runs anywhere. 0 in a field below: what the size says
    config.models = ("dense", "moe")
    config.parts = ("matmul", "copy", "attention", "experts", "update", "decode")
    config.minutes = 30.0  # of the whole run; what has not begun by then is a line that says so
    config.entry_minutes = 4.0  # of one entry, its compilation included
    config.warmups = 2  # runs before the clock
    config.repeats = 10  # of which median and quartiles are taken
    config.seconds = 15.0  # of an entry's repetitions: slow ones are repeated less often, but three times at least
    # A minibatch: rows of packed windows that are 1, 2, 3 ... times as long as the first, a quarter of the tokens
    # sampled. Images stand at the beginning of the longest windows, at most one in each.
    config.batch = ml_collections.ConfigDict(
        {
            "rows": 0,
            "row_length": 0,  # tokens
            "windows": 0,  # in a row
            "sampled": 0.0,  # share of a window's tokens
            "images_per_row": 0,
            "image_height": 0,  # pixels
            "image_width": 0,
        }
    )
    # Backends and remat policies of tars_jax.model.execution. The first remat goes with every pair of backends, the
    # others with the first pair.
    config.update = ml_collections.ConfigDict(
        {
            "attention": ("cudnn",),
            "experts": ("hopper",),
            "remat": ("products", "outputs", "full"),
            "head_chunk": 512,  # tokens of a row whose logits are held at a time
        }
    )
    # One layer alone, of the dense policy (attention) and the mixture of experts.
    config.layer = ml_collections.ConfigDict({"attention": ("cudnn", "dense"), "experts": ("hopper", "buckets")})
    config.decode = ml_collections.ConfigDict(
        {
            "weights": ("bfloat16", "w4a8"),
            "layers": ("stacked", "unstacked"),  # how the engine holds weights and cache: tars_jax/inference/config.py
            "slots": 0,
            "context": 0,  # tokens in each slot's cache before the first step
            "chunk": 0,  # steps in one call
            "cache_length": 0,  # tokens that a slot has room for: the engine reads all of them
        }
    )
    config.peak = ml_collections.ConfigDict({"matmul": 0, "copy_bytes": 0})  # side of the product, bytes of the array
    return config
