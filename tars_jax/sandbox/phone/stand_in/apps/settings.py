"""Settings: switches, a slider and pages over Android's three tables (`settings get system screen_brightness`)."""

from __future__ import annotations

from tars_jax.sandbox.phone.stand_in.apps.app import App
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import Touch

# Title, detail, and the table and name behind a switch; a page's name where there is none.
MAIN = (
    ("Wi-Fi", "Network of the house", "global", "wifi_on"),
    ("Bluetooth", "Devices nearby", "global", "bluetooth_on"),
    ("Airplane mode", "", "global", "airplane_mode_on"),
    ("Mobile data", "", "global", "mobile_data"),
    ("Display", "Brightness, theme, rotation", "", "display"),
    ("Sound", "Volume, do not disturb", "", "sound"),
    ("Apps", "All that are installed", "", "apps"),
    ("Battery saver", "", "global", "low_power"),
    ("Location", "", "secure", "location_mode"),
    ("Use 24-hour format", "", "system", "time_12_24"),
    ("Language", "", "", "language"),
    ("Stay awake while charging", "", "global", "stay_on_while_plugged_in"),
    ("Developer options", "", "global", "development_settings_enabled"),
    ("About phone", "Name, version", "", "about"),
)
LANGUAGES = ("Deutsch", "English", "Español", "Français", "Italiano", "Magyar", "Nederlands", "Polski", "Português",
             "Română", "Suomi", "Svenska", "Türkçe", "Čeština", "Ελληνικά")  # fmt: skip
VOLUMES = (("Media volume", "volume_music"), ("Ring volume", "volume_ring"), ("Alarm volume", "volume_alarm"))
ABOUT = (
    ("Model", "ro.product.model"),
    ("Manufacturer", "ro.product.manufacturer"),
    ("Android version", "ro.build.version.release"),
    ("Build", "ro.build.display.id"),
)
MOST_VOLUME = 15
MOST_BRIGHTNESS = 255
ON_VALUES = {"time_12_24": ("12", "24"), "ui_night_mode": ("1", "2"), "location_mode": ("0", "3")}


class Settings(App):
    package = "com.android.settings"
    activity = ".Settings"
    name = "Settings"
    sign, color = "⚙", "#5b6470"

    def build(self, layout: Layout) -> None:
        if self.page == "main":
            layout.header("Settings")
            for title, detail, table, name in MAIN:
                if table:
                    self._switch(layout, title, table, name, detail)
                else:
                    layout.row(name, title, detail, tap=self._opens(name))
            return
        layout.header(self.page.capitalize(), self.back)
        if self.page == "display":
            self._slider(layout, "Brightness", "screen_brightness", MOST_BRIGHTNESS)
            self._switch(layout, "Dark theme", "secure", "ui_night_mode")
            self._switch(layout, "Auto-rotate screen", "system", "accelerometer_rotation")
        elif self.page == "sound":
            for title, name in VOLUMES:
                self._slider(layout, title, name, MOST_VOLUME)
            self._switch(layout, "Do not disturb", "global", "zen_mode")
        elif self.page == "apps":
            for app in sorted(self.system.apps(), key=lambda app: app.name):
                layout.row(f"app_{app.package}", app.name, app.package, tap=self._starts(app.package))
        elif self.page == "language":
            now = self.system.setting("system", "language")
            for language in LANGUAGES:
                used = "in use" if language == now else ""
                layout.row(f"language_{language}", language, used, tap=self._speaks(language))
        else:
            for title, name in ABOUT:
                layout.row(name, title, self.system.system_property(name))

    def _starts(self, package: str) -> Touch:
        return lambda: self.system.open(package)

    def _speaks(self, language: str) -> Touch:
        return lambda: self._put("system", "language", language)

    def _slider(self, layout: Layout, title: str, name: str, most: int) -> None:
        value = self.system.setting("system", name)
        part = int(value) / most if value.isdigit() else 0.0
        layout.slider(name, title, part, lambda part: self._put("system", name, round(part * most)))

    def _opens(self, page: str) -> Touch:
        return lambda: self.open_page(page)

    def _put(self, table: str, name: str, value: object) -> None:
        self.system.put_setting(table, name, str(value))

    def _switch(self, layout: Layout, title: str, table: str, name: str, detail: str = "") -> None:
        off, on = ON_VALUES.get(name, ("0", "1"))
        checked = self.system.setting(table, name) not in (off, "", "0")
        layout.switch(name, title, checked, lambda: self._put(table, name, off if checked else on), detail)
