"""Leases: which holder has which id, and where, told by managers over HTTP. See README.md."""

from tars_jax.sandbox.service.leases.client import LeaseClient
from tars_jax.sandbox.service.leases.lease import Lease, LeaseEnded, LeaseHeld
from tars_jax.sandbox.service.leases.sqlite_store import SqliteLeases
from tars_jax.sandbox.service.leases.store import Leases

__all__ = ["Lease", "LeaseClient", "LeaseEnded", "LeaseHeld", "Leases", "SqliteLeases"]
