"""What gpu_bench measures, one file for each kind, and the process that it is measured in."""
