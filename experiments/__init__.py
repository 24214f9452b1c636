"""One module per experiment, `run(config, run_directory)`; no algorithm lives here."""
