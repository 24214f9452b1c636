"""The stand-in itself: its state, the apps in front, its screen."""
