"""What ``H`` stands for: a value that a job id picks, the same one everywhere and for ever."""

from __future__ import annotations

from hashlib import sha256


def hashed_value(hash_id: str, field_name: str, low: int, high: int) -> int:
    r"""Pick the value in ``low`` to ``high``, both included, that belongs to this job and field.

    The rule is part of the public contract, because changing it would move jobs: the first eight
    bytes, big-endian, of the SHA-256 of ``<job id>\n<field name>`` in UTF-8, modulo the number of
    values, counted from ``low``. The field's name keeps a job's minute and hour independent.
    """
    digest = sha256(f"{hash_id}\n{field_name}".encode("utf-8", "surrogatepass")).digest()
    return low + int.from_bytes(digest[:8]) % (high - low + 1)
