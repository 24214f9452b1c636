import json
from pathlib import Path

try:
    found = json.loads(Path("/work/sums.json").read_text())
except OSError:
    found = {}
wanted = {"apples": 20, "pears": 25}
print(json.dumps({"reward": sum(found.get(name) == value for name, value in wanted.items()) / 2}))
