"""Episodes of a run as fine-tuning data: chat messages or AgentNet's records as JSONL with images, or Parquet; seconds.

Command:  ./launch/local.sh export_trajectories RUN [--config.format=agentnet] [--config.verdict=solved]

Expected result: messages.jsonl and images/ (or agentnet.jsonl or 000000.atif.json and so on, and images/, or
trajectories.parquet) in the run directory of the export, or in config.output, and one line that says how many episodes
they hold.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "source": "",  # a run directory, or a folder of trajectories such as RUN/trajectories/ppo
            # parquet: one file, pictures in it (the extra parquet); agentnet: AgentNet's records and images; atif: ATIF
            # 1.8, a document an episode with what was sampled token by token, and images
            "format": "jsonl",
            "style": "qwen",  # of jsonl: pictures as files; openai: as data URLs in the lines
            "verdict": "any",  # solved or failed: only such episodes
            "evaluations": False,  # True: those of evaluations, too, which nothing should learn from
            "output": "",  # a folder; "" for the run directory
            "seed": 0,
            "run": "",
        }
    )
