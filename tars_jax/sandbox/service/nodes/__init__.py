"""Nodes: sessions of many machines by the service of one. See README.md."""

from tars_jax.sandbox.service.nodes.client import Nodes

__all__ = ["Nodes"]
