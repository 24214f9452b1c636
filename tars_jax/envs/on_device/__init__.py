"""Games as pure JAX functions, drawn to pixels, acted on by GUI actions: for rollouts that are part of a program."""
