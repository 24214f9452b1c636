"""The one kind of page: an introduction and a text."""

from typing import Any, ClassVar

from django.db import models
from wagtail.admin.panels import FieldPanel
from wagtail.fields import RichTextField
from wagtail.models import Page


class TextPage(Page):
    intro = models.CharField(max_length=250, blank=True)
    body = RichTextField(blank=True)
    content_panels: ClassVar[list[Any]] = [*Page.content_panels, FieldPanel("intro"), FieldPanel("body")]

    class Meta:
        verbose_name = "text page"
