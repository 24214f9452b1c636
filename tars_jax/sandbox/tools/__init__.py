"""Tools that an agent calls in a computer besides its shells: files, kernels, and both in the forms of other agents."""
