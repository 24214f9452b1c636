"""A person at a real desktop who does not exist: hands by XTEST, a voice for the recorder, and the truth."""
