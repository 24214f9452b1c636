"""The settings and properties that a phone starts with, under Android's names."""

from __future__ import annotations

from tars_jax import InputError

NAMES = ("system", "secure", "global")
ADB_KEYBOARD = "com.android.adbkeyboard/.AdbIME"
OWN_KEYBOARD = "com.tarsjax.keyboard/.Keyboard"
KEYBOARDS = (OWN_KEYBOARD, ADB_KEYBOARD)
SIGNS = (("airplane_mode_on", "✈"), ("wifi_on", "▲"), ("bluetooth_on", "ᛒ"))  # in the status bar, where they are on
START = {
    "system": {"accelerometer_rotation": "0", "user_rotation": "0", "screen_brightness": "102", "time_12_24": "24",
               "volume_music": "5", "volume_ring": "7", "volume_alarm": "6", "language": "English"},
    "secure": {"ui_night_mode": "1", "location_mode": "3", "default_input_method": OWN_KEYBOARD,
               "enabled_input_methods": OWN_KEYBOARD, "android_id": "5374616e64496e21"},
    "global": {"wifi_on": "1", "bluetooth_on": "0", "airplane_mode_on": "0", "mobile_data": "1", "zen_mode": "0",
               "low_power": "0", "stay_on_while_plugged_in": "0", "development_settings_enabled": "1",
               "adb_enabled": "1", "device_name": "Stand-in"},
}  # fmt: skip
LIMIT = 2000  # values in all, and characters of one


class Tables:
    """Android's three tables of settings. Raises InputError for another name, or more than there is room for."""

    def __init__(self) -> None:
        self._values = {table: dict(values) for table, values in START.items()}

    def table(self, name: str) -> dict[str, str]:
        if name not in NAMES:
            raise InputError(f"the table of settings must be one of {', '.join(NAMES)}; got {name[:80]!r}")
        return self._values[name]

    def get(self, table: str, name: str) -> str:
        """ "" where there is no such value."""
        return self.table(table).get(name, "")

    def put(self, table: str, name: str, value: str) -> None:
        values = self.table(table)
        if len(name) + len(value) > LIMIT or (name not in values and len(values) >= LIMIT):
            raise InputError(f"a setting must have at most {LIMIT} characters, and a table as many settings")
        values[name] = value

    def delete(self, table: str, name: str) -> bool:
        return self.table(table).pop(name, None) is not None


def properties(seed: int) -> dict[str, str]:
    """Properties that `getprop` shows. A stand-in says that it is one."""
    return {
        "ro.build.display.id": f"tars_jax stand-in, seed {seed}",
        "ro.build.version.release": "none (stand-in)",
        "ro.build.version.sdk": "33",  # whose commands it answers
        "ro.product.brand": "tars_jax",
        "ro.product.device": "stand_in",
        "ro.product.manufacturer": "tars_jax",
        "ro.product.model": "Stand-in",
        "ro.product.name": "stand_in",
        "ro.serialno": f"standin{seed}",
        "ro.kernel.qemu": "0",
        "sys.boot_completed": "1",
        "tars_jax.stand_in": "1",
    }
