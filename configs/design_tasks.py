"""Tasks for annotators from task graphs of applications, with their difficulty and track; a second.

Commands:
  ./launch/local.sh design_tasks                       # the example that ships: a website and two programs of a desktop
  ./launch/local.sh design_tasks --config.graphs=FOLDER --config.applications=TABLE.csv --config.tasks=200
  ./launch/local.sh design_tasks --config.helper=https://HOST/v1 --config.model=NAME --config.api_key_file=FILE

Expected result: RUN/tasks.jsonl, a task a line, and RUN/table.md, by application: its score and how many tasks it has
of each difficulty and track. The same seed gives the same tasks. With a model as helper RUN/result.json says under
`wording` how many it worded, and why the templates' words stayed for the others.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "graphs": "",  # a folder of task graphs in TOML or JSON, or files between commas; "" for the example
            "applications": "",  # a table of applications in CSV: coverage and penetration; "" for the example's
            "most_applications": 0,  # those with the best scores; 0: all that have a graph
            "tasks": 60,
            "across": 0.25,  # share of tasks that go across two applications
            "weights": {  # of a function's importance
                "frequency": 1.0,
                "benefit": 1.0,
                "transfer": 1.0,
            },
            "helper": "embedded",  # or an OpenAI-compatible endpoint that words the tasks
            "model": "",  # its name there
            "api_key_file": "",  # a file that holds the key alone
            "max_tokens": 400,  # of a model's answer
            "answer_seconds": 60.0,  # for one answer
            "seed": 0,
            "run": "",
        }
    )
