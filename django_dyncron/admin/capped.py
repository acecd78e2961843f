"""Pages of a list that may have millions of rows, which nobody waits to have counted."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

MOST = 10_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts and pages through the first :data:`MOST` rows only."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        number: int = rows.order_by()[:MOST].count()
        return number

    @property
    def is_capped(self) -> bool:
        return self.count == MOST
