"""Asking the provider: the queue of questions, and the key that may read."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0012_site"),
    ]

    operations = [
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "intent",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="question",
                        serialize=False,
                        to="notifications.intent",
                    ),
                ),
                ("about", models.CharField(max_length=8)),
                ("since", models.DateTimeField()),
                ("due_at", models.DateTimeField(null=True)),
                ("asked_count", models.SmallIntegerField(db_default=0, default=0)),
                ("asked_at", models.DateTimeField(null=True)),
                ("wanted_by", models.CharField(max_length=200, null=True)),
                ("wanted_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "question",
            },
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="lookup_key_ref",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="“env:NAME”: a key with full access, to ask about messages. Empty: it is never asked.",
                max_length=200,
                verbose_name="look-up key reference",
            ),
        ),
        migrations.AddConstraint(
            model_name="provideraccount",
            constraint=models.CheckConstraint(
                condition=models.Q(("lookup_key_ref__startswith", "env:"), ("lookup_key_ref", ""), _connector="OR"),
                name="provideraccount_lookup_key_is_reference",
            ),
        ),
        migrations.AddField(
            model_name="question",
            name="account",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="notifications.provideraccount",
            ),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="question_due"),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("wanted_at__isnull", False)), fields=["wanted_at"], name="question_wanted"
            ),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(condition=models.Q(("about", "review")), fields=["-since"], name="question_since"),
        ),
        migrations.AddConstraint(
            model_name="question",
            constraint=models.CheckConstraint(
                condition=models.Q(("about__in", ["review", "confirm", "person"])), name="question_about"
            ),
        ),
    ]
