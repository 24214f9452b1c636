"""The stages of training and their composition."""
