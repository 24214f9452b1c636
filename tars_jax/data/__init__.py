"""Sources of tasks and training data. See README.md."""

# Choices that configs name; they stand here since the modules that act on them import judges, numpy and Pillow.
STYLES = ("qwen", "openai")  # of exported messages
FORMATS = ("jsonl", "parquet", "agentnet", "atif")  # of exports
VERDICTS = ("any", "solved", "failed")  # of the episodes that are taken
