"""The project of a site of Wagtail."""
