"""Who may do what at the database's door. Written by the owner alone."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class DoorRole(models.Model):
    """A database role that may write entries as worker, person, receipt or intake."""

    pk = models.CompositePrimaryKey("role", "who")
    role = models.CharField(max_length=63)
    who = models.CharField(max_length=8)

    class Meta:
        verbose_name = _("door role")

    def __str__(self) -> str:
        return f"{self.role}: {self.who}"


class WorkspaceGrant(models.Model):
    """A workspace in which a database role may enqueue and cancel; `*` means every one."""

    pk = models.CompositePrimaryKey("role", "workspace")
    role = models.CharField(max_length=63)
    workspace = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("workspace grant")

    def __str__(self) -> str:
        return f"{self.role}: {self.workspace or '(default)'}"


class SiteSecret(models.Model):
    """A secret of this database that only the owner can read, for example the fingerprints' key."""

    name = models.CharField(max_length=40, primary_key=True)
    value = models.BinaryField()

    class Meta:
        verbose_name = _("site secret")

    def __str__(self) -> str:
        return self.name
