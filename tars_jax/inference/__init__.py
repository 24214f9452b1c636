"""Inference: the decode engine, its server, and clients of both."""
