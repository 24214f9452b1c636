"""A trained policy over HTTP: OpenAI's chat completions, and tokens in and out for RL.

Command:  ./launch/local.sh serve --config.checkpoint=RUN/policy

RUN is the run directory of a quickstart or of another experiment that exports weights, which record their model; the
run's config says which screenshots it reads. What import_weights makes is served too, with Qwen's own form of messages.
Ready when it prints its address and an example call. Ctrl-C or SIGTERM ends it.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            # A folder of exported weights (RUN/policy, RUN/supervised, ...), or a preset's name: random ones of that
            # size, until a learner hands over its own.
            "checkpoint": "",
            "name": "tars_jax",  # the model's name for clients
            "host": "127.0.0.1",  # another address takes an API key
            "port": 8000,  # 0: any that is free
            "api_key_file": "",  # a file that holds the key alone; "": none is asked for
            "certificate_file": "",  # for https: PEM files of the certificate's chain and its key; "": http
            "certificate_key_file": "",
            # New weights may be loaded from below it; "": the folder that holds the checkpoint; of a preset, from none.
            "checkpoint_root": "",
            # Where conversations are kept as trajectories with exact tokens, such as runs/recorded; "": nowhere.
            "record": "",
            "image": (),  # (height, width) of images in chat messages; (): as the run says, else each its own
            "constraints": ("text", "tool"),  # grammars that a request may name as its `constraint`
            "mesh": {"data": 1, "fsdp": 1, "expert": 1, "tensor": 1},
            "engine": {
                "slots": 8,
                "max_length": 2048,  # tokens of messages, the tools that they list (350 and more each) and an answer
                "max_new_tokens": 64,  # of an answer whose request does not say
                "chunk": 8,
                "row_buckets": (2, 8),
                "length_buckets": (32, 256, 2048),
                "image_buckets": (1, 8),
                "max_sessions": 1024,
                "max_queue": 1024,
                "weights": "float",
                "layers": "auto",
                "record_routes": False,  # the experts of each token come back with it, for ppo.replay_routes
                "penalties": True,  # a request may ask for `frequency_penalty` and `presence_penalty`
                "biases": 300,  # the most tokens that a request may name in `logit_bias`
                "top_logprobs": 20,  # the most alternatives that a request may ask to be told beside each token
            },
            "server": {
                "max_requests": 256,  # under way at once; more are answered with 429
                "max_body_megabytes": 32,
                "request_seconds": 300.0,
                "lease_seconds": 120.0,  # a session that is asked for nothing so long is closed
                "idle_seconds": 600.0,  # a conversation that nobody goes on with so long is over, and kept in `record`
                "stop_seconds": 20.0,  # for the requests under way when the server is told to stop
            },
            "seed": 0,
            "run": "",
        }
    )
