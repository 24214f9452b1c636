"""A recording without what should not leave this computer: a redacted copy in a new folder; seconds.

Command:  ./launch/local.sh export_recording REC FOLDER [--config.rectangles=0/0/300/40,100/200/400/30/12.5/80]

Typed mail addresses, telephone and card numbers, keys of services and what follows `password:` become a block, and the
windows that they were typed into are black in the pictures from then on; rectangles are black in all pictures, or
between two times. The voice stays here unless it is asked for. The recording itself is not changed.
Expected result: FOLDER, a recording of its own, and one line that counts what was taken out.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "recording": "",  # its folder
            "output": "",  # a folder that is not there yet
            "rectangles": (),  # x/y/width/height each, in pixels; x/y/width/height/since/until: between two seconds
            # A regular expression of further texts, such as names: (?i)mara|Kd-\\d{4,6}
            "pattern": "",
            "cover_typed": True,  # False: windows that a text which matched was typed into are shown
            "voice": False,  # True: goes along
            "accessibility": False,  # True: windows' trees go along, with what matches replaced
        }
    )
