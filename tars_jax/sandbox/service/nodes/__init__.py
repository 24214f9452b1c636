"""Sandboxes on many machines: nodes that open them ahead of need, a manager that places claims. See README.md."""

from tars_jax.sandbox.service.nodes.client import ClaimedSandbox, Sandboxes
from tars_jax.sandbox.service.nodes.node import Node, NodeConfig
from tars_jax.sandbox.service.nodes.placement import Placement
from tars_jax.sandbox.service.nodes.pools import Pools

__all__ = ["ClaimedSandbox", "Node", "NodeConfig", "Placement", "Pools", "Sandboxes"]
