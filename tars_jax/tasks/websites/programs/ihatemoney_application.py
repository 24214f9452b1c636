"""I Hate Money, whose settings IHATEMONEY_SETTINGS_FILE_PATH names."""

from ihatemoney.run import create_app

application = create_app()
