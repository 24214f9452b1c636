"""The table of pages."""

import django.db.models.deletion
import wagtail.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = (("wagtailcore", "0094_alter_page_locale"),)
    operations = (
        migrations.CreateModel(
            name="TextPage",
            fields=[
                (
                    "page_ptr",
                    models.OneToOneField(
                        auto_created=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        parent_link=True,
                        primary_key=True,
                        serialize=False,
                        to="wagtailcore.page",
                    ),
                ),
                ("intro", models.CharField(blank=True, max_length=250)),
                ("body", wagtail.fields.RichTextField(blank=True)),
            ],
            options={"verbose_name": "text page"},
            bases=("wagtailcore.page",),
        ),
    )
