"""Phones: any Android device through ADB, and a stand-in for machines without one. See README.md."""

from tars_jax.sandbox.phone.adb import PhoneConfig, ShellResult
from tars_jax.sandbox.phone.adb_server import AdbServer
from tars_jax.sandbox.phone.failures import PHONE_FAILURES
from tars_jax.sandbox.phone.phone import Phone, Settled

__all__ = ["PHONE_FAILURES", "AdbServer", "Phone", "PhoneConfig", "Settled", "ShellResult"]
