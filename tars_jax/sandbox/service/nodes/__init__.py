"""Nodes: sessions of many machines by the service of one. See README.md."""

from tars_jax.sandbox.service.nodes.node_client import Nodes

__all__ = ["Nodes"]
