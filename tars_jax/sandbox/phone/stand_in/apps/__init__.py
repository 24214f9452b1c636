"""The apps of the stand-in, and what brings them together."""

from tars_jax.sandbox.phone.stand_in.apps.app import App, System
from tars_jax.sandbox.phone.stand_in.apps.calculator import Calculator
from tars_jax.sandbox.phone.stand_in.apps.contacts import CallsNumbers, Contacts
from tars_jax.sandbox.phone.stand_in.apps.dialer import Dialer
from tars_jax.sandbox.phone.stand_in.apps.home import Home
from tars_jax.sandbox.phone.stand_in.apps.notes import Notes
from tars_jax.sandbox.phone.stand_in.apps.settings import Settings

APPS: tuple[type[App], ...] = (Settings, Notes, Calculator, Contacts, Dialer)

__all__ = ["APPS", "App", "CallsNumbers", "Home", "System"]
