"""Your work on this computer, recorded for an agent to learn from: screen, hands and voice, of what you allow alone.

Command:  ./launch/local.sh record [--config.allow=firefox,libreoffice] [--config.task='Book a table for four']

`record list` says what lies on this computer, `record delete REC` deletes a recording, all of it.

Takes the extra `record`, an X screen and, for the voice, pw-record, parecord or arecord. Asks for your consent at the
terminal, then records until `stop`, Ctrl-C or the limit; a red frame around the screen shows that it does.
Expected result: a folder below ~/.local/share/tars_jax/recordings, and its path in the last line. Nothing leaves this
computer; docs/annotation.md says on one page what is recorded, where it lies and how it is deleted.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "action": "record",  # list: the recordings that lie here; delete: `recording`, all of it
            "recording": "",  # of delete: its folder
            "folder": "",  # where recordings lie; "": ~/.local/share/tars_jax/recordings
            "allow": (),  # applications, by their windows' class; (): those that are open are asked for one by one
            "task": "",  # what you set out to do
            "annotator": "",  # who you are; a name of your choice
            "track": "",  # or expert, or novice
            "microphone": True,  # False: no voice
            "accessibility": True,  # fields for passwords and the focused window's tree, where AT-SPI is there
            # Regular expressions of windows that are never recorded, beyond those of windows.py: of their titles ...
            "secret_titles": "",
            "secret_applications": "",  # ... and of their classes
            "hotkeys": {  # combinations that serve everywhere; "": none
                "pause": "Control+Alt+Shift+p",  # and resume
                "secret": "Control+Alt+Shift+s",  # begins, ends
                "discard": "Control+Alt+Shift+d",  # what the last minutes have recorded
            },
            "discard_minutes": 5.0,  # that hotkeys.discard takes back
            "limit_megabytes": 4000.0,  # of this recording; it ends there
            "system": "x11",  # pynput: where there is no X, as on macOS; nobody has tried it
            "display": "",  # of x11; "": DISPLAY
        }
    )
