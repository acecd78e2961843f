"""The plain values of the settings: defaults, ranges, and errors that name their place."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from django_dyncron.conf import ConfigurationError, get_settings, read_settings
from django_dyncron.core.exceptions import DyncronError


def error_of(value: Any) -> ConfigurationError:
    with override_settings(DYNCRON=value), pytest.raises(ConfigurationError) as caught:
        get_settings()
    return caught.value


def test_nothing_need_be_set(settings: Any) -> None:
    del settings.DYNCRON
    settings.TIME_ZONE = "Europe/Berlin"
    read = get_settings()
    assert read.lock_provider is None
    assert read.enqueuer is None
    assert read.enqueuers == {}
    assert read.repository == "django_dyncron.repositories.orm.DjangoCronJobRepository"
    assert read.database is None
    assert read.tick_interval_seconds == 30
    assert read.catch_up_window_seconds == 86400
    assert read.lock_ttl_seconds == 60
    assert read.on_lock_error is None
    assert read.key_prefix == "dyncron"
    assert read.time_zone == "Europe/Berlin"
    assert read.run_retention_days == 30
    assert read.shutdown_grace_seconds == 25
    assert read.allowed_tasks == ()


def test_settings_are_read_each_time() -> None:
    with override_settings(DYNCRON={"KEY_PREFIX": "one"}):
        assert get_settings().key_prefix == "one"
        with override_settings(DYNCRON={"KEY_PREFIX": "two"}):
            assert get_settings().key_prefix == "two"
        assert get_settings().key_prefix == "one"


@pytest.mark.parametrize(
    "given, field, expected",
    [
        ({"TICK_INTERVAL_SECONDS": 0.5}, "tick_interval_seconds", 0.5),
        ({"TICK_INTERVAL_SECONDS": 3600}, "tick_interval_seconds", 3600),
        ({"ON_LOCK_ERROR": "skip"}, "on_lock_error", "skip"),
        ({"TIME_ZONE": "Asia/Kolkata"}, "time_zone", "Asia/Kolkata"),
        ({"RUN_RETENTION_DAYS": None}, "run_retention_days", None),
        ({"SHUTDOWN_GRACE_SECONDS": 0}, "shutdown_grace_seconds", 0),
        ({"ALLOWED_TASKS": ["shop.tasks.*"]}, "allowed_tasks", ("shop.tasks.*",)),
        ({"ALLOWED_TASKS": {"shop.tasks.*"}}, "allowed_tasks", ("shop.tasks.*",)),
        ({"LOCK_TTL_SECONDS": 300}, "lock_ttl_seconds", 300),
        ({"TICK_INTERVAL_SECONDS": 45.2}, "lock_ttl_seconds", 91),
        ({"TICK_INTERVAL_SECONDS": 1}, "lock_ttl_seconds", 60),
        ({"TICK_INTERVAL_SECONDS": 1, "LOCK_TTL_SECONDS": 60}, "lock_ttl_seconds", 60),
    ],
)
def test_right_values_are_taken(given: dict[str, Any], field: str, expected: Any) -> None:
    with override_settings(DYNCRON=given):
        assert getattr(get_settings(), field) == expected


@pytest.mark.parametrize(
    "key, value, problem",
    [
        ("TICK_INTERVAL_SECONDS", 0, "is 0, not a number above 0 and up to 3600."),
        ("TICK_INTERVAL_SECONDS", -1, "is -1, not a number above 0 and up to 3600."),
        ("TICK_INTERVAL_SECONDS", 3601, "is 3601, not a number above 0 and up to 3600."),
        ("TICK_INTERVAL_SECONDS", True, "is True, not a number above 0 and up to 3600."),
        ("TICK_INTERVAL_SECONDS", "30", "is '30', not a number above 0 and up to 3600."),
        ("TICK_INTERVAL_SECONDS", float("nan"), "is nan, not a number above 0 and up to 3600."),
        ("TICK_INTERVAL_SECONDS", None, "is None, not a number above 0 and up to 3600."),
        ("CATCH_UP_WINDOW_SECONDS", 1.5, "is 1.5, not a whole number from 60 to 316224000."),
        ("LOCK_TTL_SECONDS", 59, "is 59, shorter than 60."),
        ("LOCK_TTL_SECONDS", "60", "is '60', not a whole number from 1 to 31622400."),
        ("ON_LOCK_ERROR", "clam", 'is \'clam\', not "skip" or "claim".'),
        ("ON_LOCK_ERROR", [], 'is [], not "skip" or "claim".'),
        ("KEY_PREFIX", "", "is '', not a name."),
        ("KEY_PREFIX", 7, "is 7, not a name."),
        ("KEY_PREFIX", "x" * 101, "is longer than 100 characters."),
        ("TIME_ZONE", "Europe/Berlim", "is 'Europe/Berlim'."),
        ("TIME_ZONE", 1, 'is 1, not the name of a time zone such as "Europe/Berlin".'),
        ("RUN_RETENTION_DAYS", 0, "is 0, not a whole number from 1 to 36600."),
        ("SHUTDOWN_GRACE_SECONDS", -1, "is -1, not a number from 0 to 3600."),
        ("ALLOWED_TASKS", "shop.tasks.*", "is 'shop.tasks.*', not a list of patterns."),
        ("ALLOWED_TASKS", ["*"], "holds '*', which can match no task."),
        ("ALLOWED_TASKS", ["shop..x"], "holds 'shop..x', which can match no task."),
        ("ALLOWED_TASKS", ["shop.t*.x"], "holds 'shop.t*.x', which can match no task."),
        ("ALLOWED_TASKS", [None], "holds None, which can match no task."),
        ("DATABASE", "", "is '', not a name."),
        # It may be the secret, all but for a line end.
        ("HEALTH_TOKEN", "s3cret\n", "is not a text of 1 to 1000 printable characters."),
        ("HEALTH_TOKEN", 5, "is not a text of 1 to 1000 printable characters."),
        ("LATE_AFTER_SECONDS", 0, "is 0, not a number above 0 and up to 31622400."),
        ("STUCK_AFTER_SECONDS", 9, "is 9, not a number from 10 to 31622400."),
        (
            "PING_URLS",
            "https://hc-ping.com/",
            'is a URL of scheme "https", not a list of beginnings of URLs.',
        ),
        ("PING_URLS", ["hc-ping.com/"], "holds 'hc-ping.com/', with which no URL begins."),
        (
            "PING_URLS",
            ["https://hc-ping.com"],
            'holds a URL of scheme "https", which lacks a slash after the host.',
        ),
        ("ENQUEUERS", [], "is [], not a dict of enqueuers by name."),
        (
            "LOCK_PROVIDER",
            "",
            "is '', not a name, a dotted path or a dict with BACKEND and OPTIONS.",
        ),
        (
            "ENQUEUER",
            7,
            "is 7, not a name, a dotted path or a dict with BACKEND and OPTIONS.",
        ),
        (
            "REPOSITORY",
            None,
            "is None, not a name, a dotted path or a dict with BACKEND and OPTIONS.",
        ),
    ],
)
def test_a_wrong_value_is_an_error_at_its_place(key: str, value: Any, problem: str) -> None:
    error = error_of({key: value})
    assert error.path == f'DYNCRON["{key}"]'
    assert error.problem == problem


@pytest.mark.parametrize(
    "value, path, hint",
    [
        ({"ENQUEUR": "local"}, 'DYNCRON["ENQUEUR"]', 'Did you mean "ENQUEUER"?'),
        ({"key_prefix": "x"}, 'DYNCRON["key_prefix"]', 'Did you mean "KEY_PREFIX"?'),
        (
            {"ENQUEUER": {"BACKEND": "local", "OPTION": {}}},
            'DYNCRON["ENQUEUER"]["OPTION"]',
            'Did you mean "OPTIONS"?',
        ),
        (
            {"LOCK_PROVIDER": {"BACKEND": 5}},
            'DYNCRON["LOCK_PROVIDER"]["BACKEND"]',
            "",
        ),
        (
            {"ENQUEUERS": {"mail": {"BACKEND": "local", "OPTIONS": []}}},
            'DYNCRON["ENQUEUERS"]["mail"]["OPTIONS"]',
            "",
        ),
        ({"ENQUEUERS": {7: "local"}}, 'DYNCRON["ENQUEUERS"][7]', ""),
        ({"ON_LOCK_ERROR": "clam"}, 'DYNCRON["ON_LOCK_ERROR"]', 'Did you mean "claim"?'),
        ([], "DYNCRON", ""),
        (None, "DYNCRON", ""),
    ],
)
def test_an_error_names_its_path_and_the_nearest_right_spelling(
    value: Any, path: str, hint: str
) -> None:
    error = error_of(value)
    assert error.path == path
    assert error.hint == hint
    assert str(error).startswith(f"{path} is ")
    assert str(error).endswith(hint)


def test_a_configuration_error_is_of_both_families() -> None:
    error = error_of({"KEY_PREFIX": 7})
    assert isinstance(error, DyncronError)
    assert isinstance(error, ImproperlyConfigured)
    assert error.message == 'DYNCRON["KEY_PREFIX"] is 7, not a name.'


@override_settings(DYNCRON={"KEY_PREFIX": 7, "TICK_INTERVAL": 5, "RUN_RETENTION_DAYS": 9})
def test_all_errors_can_be_had_at_once_with_defaults_in_their_place() -> None:
    read, errors = read_settings()
    assert [error.path for error in errors] == ['DYNCRON["KEY_PREFIX"]', 'DYNCRON["TICK_INTERVAL"]']
    assert read.key_prefix == "dyncron"
    assert read.run_retention_days == 9


@override_settings(DYNCRON={"ENQUEUERS": "redis://:secret@host/0"})
def test_a_password_in_a_url_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    _read, (error,) = read_settings()
    assert error.problem == 'is a URL of scheme "redis", not a dict of enqueuers by name.'
    assert "secret" not in str(error) + caplog.text


@override_settings(DYNCRON=["redis://:secret@host/0"])
def test_nor_is_one_inside_something_else() -> None:
    _read, (error,) = read_settings()
    assert str(error) == "DYNCRON is something with a URL in it, not a dict."
