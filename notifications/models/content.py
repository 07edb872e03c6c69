"""The only tables that hold personal data: what to say to whom, the frozen bytes, and the bytes of attachments."""

from __future__ import annotations

from django.contrib.postgres.functions import TransactionNow
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _


class Content(models.Model):
    """What the caller asked for: address and data. Written once at intake, erasable."""

    intent = models.OneToOneField(
        "notifications.Intent", models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="content"
    )
    recipient = models.TextField(null=True)
    # Keyed hash of the normalised address: lets a block be checked without reading the address. Empty once erased.
    commitment = models.BinaryField()
    # Of a corrected address: what the log's hash of it was salted with. Erased with the content.
    salt = models.BinaryField(null=True)
    data = models.JSONField(null=True)
    locale = models.CharField(max_length=16, null=True)
    # In the order of the message: name, media_type, size, sha256, and url where the bytes are to be fetched.
    attachments = models.JSONField(null=True)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("content")
        indexes = [
            # Who else needs these bytes: asked when content is erased, and by whoever has fetched some.
            GinIndex(
                name="content_attachments",
                fields=["attachments"],
                opclasses=["jsonb_path_ops"],
                condition=models.Q(attachments__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"content of {self.intent_id}"


class Prepared(models.Model):
    """The exact bytes of one generation, frozen before its first attempt. Insert-only, erasable."""

    pk = models.CompositePrimaryKey("intent_id", "generation")
    intent_id = models.BigIntegerField()
    generation = models.SmallIntegerField()
    account_id = models.BigIntegerField()
    body = models.BinaryField(null=True)
    sha256 = models.BinaryField()
    template_version = models.CharField(max_length=64)
    subject = models.TextField(null=True)
    # The site's mode when it was prepared: bytes for the sandbox are never sent to real people, nor the other way.
    site_mode = models.CharField(max_length=8)
    prepared_at = models.DateTimeField(db_default=TransactionNow())

    class Meta:
        verbose_name = _("prepared message")

    def __str__(self) -> str:
        return f"{self.intent_id}~g{self.generation}"


class Blob(models.Model):
    """The bytes of one attachment, kept once a workspace. Insert-only; erased with the last content that names them."""

    pk = models.CompositePrimaryKey("workspace", "sha256")
    workspace = models.CharField(max_length=64)
    sha256 = models.BinaryField()
    content = models.BinaryField()
    kept_at = models.DateTimeField(db_default=TransactionNow())

    class Meta:
        verbose_name = _("attachment's bytes")

    def __str__(self) -> str:
        return bytes(self.sha256).hex()


class Fetch(models.Model):
    """What a claim wants fetched before it can prepare a message. Gone once that has ended, well or not."""

    intent = models.OneToOneField(
        "notifications.Intent", models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="fetch"
    )
    # Of the entry that asked: what has moved since is not this question's any more.
    seq = models.IntegerField()
    failure_count = models.SmallIntegerField(db_default=0)
    # A person ordered the attempt: its failure is theirs to know of.
    manual = models.BooleanField(db_default=False)
    # False once it has failed and waits for the intent's own time.
    wanted = models.BooleanField(db_default=True)

    class Meta:
        verbose_name = _("fetching of attachments")
        indexes = [
            # What is to be fetched now: the chore's look, twice a second.
            models.Index(name="fetch_wanted", fields=["intent"], condition=models.Q(wanted=True)),
        ]

    def __str__(self) -> str:
        return f"attachments of {self.intent_id}"
