"""Where a cron job came from, so that a later deploy or import knows what it may change."""

from __future__ import annotations

from enum import StrEnum

from django.db import models
from django.utils.translation import gettext_lazy as _


class Origin(StrEnum):
    """Who wrote a row: somebody by hand, the code of the project, or an import."""

    HAND = ""
    CODE = "code"
    IMPORT = "import"


class HasOrigin(models.Model):
    """The columns that only ``dyncron_sync`` and ``dyncron_import`` write.

    Like the scheduler's they are left alone by ``save()`` and are in no dump, so a copy of a
    declared job is a job made by hand.
    """

    origin = models.CharField(
        _("origin"),
        max_length=20,
        blank=True,
        editable=False,
        serialize=False,
        default=Origin.HAND.value,
        db_default=Origin.HAND.value,
        choices=[
            (Origin.HAND.value, _("made by hand")),
            (Origin.CODE.value, _("declared in code")),
            (Origin.IMPORT.value, _("imported")),
        ],
    )
    # What the code asked for when it was last synced, or the source of an import; NULL: never.
    declaration = models.JSONField(null=True, editable=False, serialize=False, default=None)
    has_vanished = models.BooleanField(
        _("no longer declared"), editable=False, serialize=False, default=False, db_default=False
    )

    class Meta:
        abstract = True
