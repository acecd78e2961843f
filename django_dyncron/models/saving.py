"""Saving a cron job beside a scheduler that moves its cursor: each writes its own columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models, router
from django.db.models.base import ModelBase

from .due import SCHEDULE_FIELDS, plan_from_after


class KeepsCursor(models.Model):
    """A model whose saves leave alone what its scheduler writes: the columns that no dump holds."""

    class Meta:
        abstract = True

    def save(
        self,
        *,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Write the row, leaving the scheduler's columns alone unless ``update_fields`` has them.

        A schedule changed by it counts from this moment. A copy of a job starts as a new one.
        """
        using = using or router.db_for_write(type(self), instance=self)
        was_read = not self._state.adding and self._state.db == using
        if not force_insert and (was_read or _has_row(self, using)):
            self._save_over_row(was_read, force_update, using, update_fields)
            return
        if self._state.db is not None:
            for field in _scheduler_columns(self):
                setattr(self, field.name, field.get_default())
        super().save(
            force_insert=force_insert,
            force_update=force_update,
            using=using,
            update_fields=update_fields,
        )

    def _save_over_row(
        self,
        was_read: bool,
        force_update: bool,
        using: str,
        update_fields: Iterable[str] | None,
    ) -> None:
        names = self._own_names() if update_fields is None else set(update_fields)
        edit = {name: getattr(self, name) for name in SCHEDULE_FIELDS if name in names}
        if edit and "plan_from" not in names:
            self.__dict__["plan_from"] = plan_from_after(edit)
            names.add("plan_from")
        try:
            super().save(force_update=force_update, using=using, update_fields=names)
        finally:
            if not was_read:
                _read_again(self)
            elif edit:
                # An expression, not a value: read it again when somebody asks.
                self.__dict__.pop("plan_from", None)

    def _own_names(self) -> set[str]:
        kept = {field.name for field in _scheduler_columns(self)}
        unread = self.get_deferred_fields()
        return {
            field.name
            for field in _columns(self)
            if field.name not in kept and field.attname not in unread
        }


def keep_on_raw_save(instance: models.Model, raw: bool, using: str, **_: Any) -> None:
    """Let a fixture that is loaded over a row leave the scheduler's columns alone (``pre_save``).

    Loading goes around ``save()`` and writes every column, so each of these is given itself.
    """
    if raw and _has_row(instance, using):
        for field in _scheduler_columns(instance):
            setattr(instance, field.name, models.F(field.name))
        edit = {name: getattr(instance, name) for name in SCHEDULE_FIELDS}
        instance.__dict__["plan_from"] = plan_from_after(edit)


def read_again_after_raw_save(instance: models.Model, raw: bool, created: bool, **_: Any) -> None:
    """Put the expressions of :func:`keep_on_raw_save` out of sight (``post_save``)."""
    if raw and not created:
        _read_again(instance)


def _read_again(job: models.Model) -> None:
    """Have the scheduler's columns read from the row when somebody asks for them."""
    for field in _scheduler_columns(job):
        job.__dict__.pop(field.name, None)


def _columns(job: models.Model) -> list[models.Field[Any, Any]]:
    columns = job._meta.concrete_fields
    return [field for field in columns if not field.primary_key and not field.generated]


def _scheduler_columns(job: models.Model) -> list[models.Field[Any, Any]]:
    return [field for field in _columns(job) if not field.serialize]  # type: ignore[attr-defined]


def _has_row(job: models.Model, using: str) -> bool:
    rows = type(job)._base_manager.using(using)
    return job.pk is not None and rows.filter(pk=job.pk).exists()
