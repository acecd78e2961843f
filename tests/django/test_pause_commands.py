"""``dyncron_pause`` and ``dyncron_resume``: some cron jobs, or everything."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_dyncron.management.who import who
from django_dyncron.models import CronJob, Pause
from tests.django.admin_pages import a_job

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")


def call(command: str, *arguments: str) -> list[str]:
    output = StringIO()
    call_command(command, *arguments, stdout=output, no_color=True)
    return output.getvalue().splitlines()


def states() -> dict[str, tuple[bool, str]]:
    rows = CronJob.objects.values_list("job_id", "is_active", "pause_reason")
    return {job_id: (is_active, reason) for job_id, is_active, reason in rows}


def test_some_jobs_are_paused_for_a_reason_and_resumed() -> None:
    for job_id in ("a", "b", "c"):
        a_job(job_id)
    reason = "The bank is down."
    assert call("dyncron_pause", "a", "c", "--reason", reason) == ["a: paused", "c: paused"]
    assert states() == {"a": (False, reason), "b": (True, ""), "c": (False, reason)}
    assert call("dyncron_resume", "a") == ["a: resumed"]
    assert states()["a"] == (True, "")
    resumed = CronJob.objects.get(job_id="a")
    assert resumed.plan_from is not None


def test_what_is_so_already_is_said_and_left_alone() -> None:
    a_job("a", is_active=False, pause_reason="First.")
    a_job("b")
    lines = ["a: was paused already", "b: paused"]
    assert call("dyncron_pause", "a", "b", "a", "--reason", "Second.") == lines
    assert states() == {"a": (False, "First."), "b": (False, "Second.")}
    call("dyncron_resume", "a")
    assert call("dyncron_resume", "a", "b") == ["a: was not paused", "b: resumed"]


@pytest.mark.parametrize("command", ["dyncron_pause", "dyncron_resume"])
def test_one_unknown_name_and_nothing_is_done(command: str) -> None:
    a_job("report")
    a_job("paused", is_active=False)
    with pytest.raises(CommandError) as caught:
        call(command, "report", "paused", "reprot", "xyz")
    assert str(caught.value).splitlines() == [
        'There is no cron job "reprot". Did you mean "report"?',
        'There is no cron job "xyz".',
    ]
    assert states() == {"report": (True, ""), "paused": (False, "")}


@pytest.mark.parametrize(
    "command", ["dyncron_pause", "dyncron_resume", "dyncron_run", "dyncron_export"]
)
def test_half_a_character_is_no_job_id(command: str) -> None:
    a_job("report")
    with pytest.raises(CommandError) as caught:
        call(command, "repo\udcff")
    assert str(caught.value) == r'There is no cron job "repo\udcff". Did you mean "report"?'
    assert states() == {"report": (True, "")}


@pytest.mark.parametrize("chosen", ["report", "--all"])
def test_half_a_character_is_no_reason(chosen: str) -> None:
    a_job("report")
    with pytest.raises(CommandError) as caught:
        call("dyncron_pause", chosen, "--reason", "Strom\udcff")
    assert str(caught.value) == r'--reason is no text: half a character in "Strom\udcff".'
    assert states() == {"report": (True, "")}
    assert not Pause.objects.exists()


@pytest.mark.parametrize("command", ["dyncron_pause", "dyncron_resume"])
@pytest.mark.parametrize("arguments", [[], ["report", "--all"]])
def test_it_must_be_clear_which_jobs(command: str, arguments: list[str]) -> None:
    a_job("report")
    with pytest.raises(CommandError, match=r"^Name cron jobs, or give --all\.$"):
        call(command, *arguments)
    assert not Pause.objects.exists()


def test_everything_is_paused_by_somebody_and_resumed_by_somebody() -> None:
    a_job("report")
    assert call("dyncron_pause", "--all", "--reason", "Deploy.") == ["Everything is paused."]
    pause = Pause.objects.get()
    assert (pause.reason, pause.paused_by, pause.until) == ("Deploy.", "ann (manage.py)", None)
    assert states() == {"report": (True, "")}
    assert call("dyncron_resume", "--all") == ["Everything is resumed."]
    pause = Pause.objects.get()
    assert pause.until is not None
    assert pause.resumed_by == "ann (manage.py)"
    assert call("dyncron_resume", "--all") == ["Everything was not paused."]


def test_everything_is_paused_once() -> None:
    since = datetime(2026, 11, 30, 12, 57, tzinfo=UTC)
    Pause.objects.create(since=since, reason="Fire.", paused_by="bob")
    assert call("dyncron_pause", "--all", "--reason", "Deploy.") == [
        "Everything was paused already, since 2026-11-30 12:57:00Z by bob: Fire."
    ]
    assert Pause.objects.count() == 1


def test_a_job_that_is_resumed_while_everything_is_paused_does_not_run() -> None:
    a_job("a", is_active=False)
    call("dyncron_pause", "--all")
    assert call("dyncron_resume", "a") == [
        "a: resumed",
        "Everything is still paused, so it does not run: see dyncron_resume --all.",
    ]


@pytest.mark.parametrize("command", ["dyncron_pause", "dyncron_resume"])
def test_a_wrong_database_is_named(command: str) -> None:
    with pytest.raises(CommandError, match=r'DYNCRON\["DATABASE"\] is "elsewhere"'):
        call(command, "a", "--database", "elsewhere")


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nameless)
    monkeypatch.setattr("os.getuid", lambda: 4711)
    call("dyncron_pause", "--all")
    assert Pause.objects.get().paused_by == "4711 (manage.py)"


def test_of_many_jobs_a_few_are_compared_with_a_wrong_name(
    django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_dyncron.management.chosen_jobs._LOOKED_AT", 3)
    names = [*(f"a-{number}" for number in range(10)), "zebra-stripes"]
    CronJob.objects.bulk_create(
        CronJob(job_id=name, task_name="a.b", cron_expression="@daily") for name in names
    )
    with django_assert_max_num_queries(5), pytest.raises(CommandError) as caught:
        call("dyncron_pause", "zebra-stripe")
    assert str(caught.value) == 'There is no cron job "zebra-stripe". Did you mean "zebra-stripes"?'


def test_a_name_that_is_no_text_is_kept_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ann\udcff")
    assert who() == "ann? (manage.py)"
