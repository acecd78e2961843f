"""The panels that are drawn again as one types: what they say, to whom, and what they refuse."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
import time_machine
from django.test import Client

from django_dyncron.models import CronJob
from tests.django.admin_pages import JOBS, TASK, a_job, at, client_with, form_data

pytestmark = pytest.mark.django_db

SCHEDULE = f"{JOBS}preview/"
TASKS = f"{JOBS}preview/task/"
FRIDAY = at("2026-10-30T12:00Z")


@pytest.fixture
def adder() -> Client:
    return client_with("add_cronjob", "view_cronjob")


@pytest.fixture
def editor() -> Client:
    return client_with("change_cronjob", "view_cronjob", name="editor")


def shown(client: Client, address: str, **posted: Any) -> str:
    """Post to a preview; return the fragment with its white space evened out."""
    answer = client.post(address, posted)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    return " ".join(answer.content.decode().split())


def cells(fragment: str, row: int) -> list[str]:
    return [
        unescape(re.sub("<[^>]*>", "", cell)).replace("\xa0", " ")
        for cell in re.findall("<td>(.*?)</td>", re.findall("<tr>(.*?)</tr>", fragment)[row])
    ]


def headings(fragment: str) -> list[str]:
    return [
        re.sub("<[^>]*>", "", each) for each in re.findall('<th scope="col">(.*?)</th>', fragment)
    ]


@time_machine.travel(FRIDAY, tick=False)
def test_an_expression_is_explained_on_each_clock(adder: Client) -> None:
    fragment = shown(
        adder,
        SCHEDULE,
        cron_expression="30 1 * * *",
        time_zone="America/New_York",
        tz="Asia/Kolkata",
    )

    assert '<p class="dyncron-words">At 01:30 every day</p>' in fragment
    assert (
        "On 2026-11-01 the clocks go back and 01:30 comes twice: runs the first time." in fragment
    )
    assert headings(fragment) == [
        "America/New_York this job",
        "UTC this site",
        "Asia/Kolkata this browser",
        "From now",
    ]
    assert cells(fragment, 2) == [
        "2026-11-01 01:30 EDT",
        "2026-11-01 05:30 UTC",
        "2026-11-01 11:00 IST",
        "in 1 day, 17 hours",
    ]
    assert cells(fragment, 5)[:2] == ["2026-11-04 01:30 EST", "2026-11-04 06:30 UTC"]
    assert '<time datetime="2026-11-01T05:30:00Z" title="2026-11-01 05:30 UTC">' in fragment


@time_machine.travel(FRIDAY, tick=False)
@pytest.mark.parametrize("browser_zone", ["Europe/Paris", "Mars/Olympus", "../etc/passwd", ""])
def test_a_clock_that_shows_the_same_or_that_nobody_knows_is_left_out(
    adder: Client, settings: Any, browser_zone: str
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    settings.DYNCRON = {"TIME_ZONE": "Europe/Berlin"}

    fragment = shown(adder, SCHEDULE, cron_expression="0 6 * * *", tz=browser_zone)

    assert headings(fragment) == ["Europe/Berlin this job", "From now"]
    assert cells(fragment, 1) == ["2026-10-31 06:00 CET", "in 17 hours"]


@pytest.mark.parametrize(
    "posted, words",
    [
        ({"cron_expression": "99 * * * *"}, "Minute &#x27;99&#x27;"),
        ({"cron_expression": "0 0 31 2 *"}, "never fires"),
        ({"cron_expression": "0 " * 200}, "use at most 255"),
        ({"cron_expression": "0 6 * * *", "time_zone": "Europe/Berlim"}, "Europe/Berlim"),
        ({"cron_expression": "0 6 * * *", "dst_gap": "jump"}, "dst_gap"),
        ({"cron_expression": "0 6 * * *", "ends_at_0": "soon", "ends_at_1": ""}, "Not after: "),
        ({"cron_expression": "0 6 * * *", "max_run_seconds": "0"}, "Longest run (seconds): "),
    ],
)
def test_what_makes_no_sense_is_said(adder: Client, posted: dict[str, str], words: str) -> None:
    found = re.search('<p class="dyncron-error">(.*?)</p>', shown(adder, SCHEDULE, **posted))

    assert found is not None
    assert words in found[1]


def test_a_date_half_typed_does_not_hide_the_rest(adder: Client) -> None:
    posted = {"cron_expression": "0 6 * * *", "starts_at_0": "2026-1", "starts_at_1": "00:00"}

    fragment = shown(adder, SCHEDULE, **posted)

    assert "Not before: Enter a valid date." in fragment
    assert "At 06:00 every day" in fragment


@time_machine.travel(FRIDAY, tick=False)
def test_the_dates_bound_what_is_listed(adder: Client) -> None:
    dates = {
        "starts_at_0": "2026-12-24",
        "starts_at_1": "06:00",
        "ends_at_0": "2026-12-25",
        "ends_at_1": "12:00",
    }

    fragment = shown(adder, SCHEDULE, cron_expression="0 6 * * *", **dates)

    assert fragment.count("<tr>") == 3
    assert cells(fragment, 1)[0] == "2026-12-24 06:00 UTC"
    assert cells(fragment, 2)[0] == "2026-12-25 06:00 UTC"


def test_nothing_typed_is_no_mistake(adder: Client) -> None:
    assert "Type an expression" in shown(adder, SCHEDULE, cron_expression="")
    assert "Type the name of a task" in shown(adder, TASKS, task_name=" ")


def test_what_is_not_posted_is_as_it_was_saved(editor: Client) -> None:
    job = a_job("<nightly>", cron_expression="H 4 * * *", time_zone="Asia/Tokyo", is_active=False)

    fragment = shown(editor, SCHEDULE, job=job.pk)
    retyped = shown(editor, SCHEDULE, job=job.pk, cron_expression="H 5 * * *")
    resumed = shown(editor, SCHEDULE, job=job.pk, is_active="on")
    other_job = shown(editor, SCHEDULE, job=a_job().pk, cron_expression="H 4 * * *")

    assert "Next runs, were it not paused" in fragment
    assert headings(fragment)[0] == "Asia/Tokyo this job"
    assert cells(fragment, 1)[0][11:16] == "04:55"
    assert cells(retyped, 1)[0][11:16] == "05:55"
    assert "Next runs</caption>" in resumed
    assert cells(other_job, 1)[0][11:16] == "04:09"


def test_unticking_active_is_told_from_not_having_that_box(editor: Client) -> None:
    job = a_job()

    assert "Next runs</caption>" in shown(editor, SCHEDULE, job=job.pk)
    assert "were it not paused" in shown(editor, SCHEDULE, job=job.pk, is_active="")


def test_to_look_changes_nothing(editor: Client) -> None:
    job = a_job()

    shown(editor, SCHEDULE, job=job.pk, cron_expression="* * * * *", is_active="")
    shown(editor, TASKS, job=job.pk, task_name="os.system")

    saved = CronJob.objects.get()
    assert (saved.cron_expression, saved.task_name, saved.is_active) == ("30 6 * * *", TASK, True)


def test_surprises_with_the_queue_system_are_told_as_they_are_chosen(
    adder: Client, settings: Any
) -> None:
    settings.DYNCRON = {"ENQUEUER": "django_dyncron.testing.RecordingEnqueuer"}
    posted = {"cron_expression": "0 6 * * *", "max_run_seconds": "600"}

    assert "600 seconds" not in shown(adder, SCHEDULE, **posted)
    assert "600 seconds" in shown(adder, SCHEDULE, **posted, overlap_policy="skip")


@pytest.mark.parametrize("address", [SCHEDULE, TASKS])
def test_only_those_who_may_save_it_may_ask(address: str) -> None:
    job = a_job()
    viewer = client_with("view_cronjob", "pause_cronjob", "run_cronjob", name="viewer")
    adder = client_with("add_cronjob", name="adder")
    editor = client_with("change_cronjob", name="editor")

    answers = {
        name: (client.post(address).status_code, client.post(address, {"job": job.pk}).status_code)
        for name, client in {"viewer": viewer, "adder": adder, "editor": editor}.items()
    }

    assert answers == {"viewer": (403, 403), "adder": (200, 403), "editor": (403, 200)}
    assert Client().post(address).status_code == 302


@pytest.mark.parametrize("address", [SCHEDULE, TASKS])
@pytest.mark.parametrize("job", ["999", "9" * 40, "-1", "x", "1 OR 1=1"])
def test_a_job_that_is_not_there_is_not_found(editor: Client, address: str, job: str) -> None:
    assert editor.post(address, {"job": job}).status_code == 404


@pytest.mark.parametrize("address", [SCHEDULE, TASKS])
def test_it_takes_a_post_with_a_token_and_of_some_size(adder: Client, address: str) -> None:
    assert adder.get(address).status_code == 405
    assert adder.post(address, {"task_name": "x" * 8_193}).status_code == 413
    assert adder.post(address, {"x": ["y" * 4_000] * 3}).status_code == 413

    adder.handler.enforce_csrf_checks = True
    assert adder.post(address).status_code == 403


def test_markup_stays_text(adder: Client) -> None:
    evil = "<script>alert(1)</script>"

    for address in (SCHEDULE, TASKS):
        for name in ("cron_expression", "time_zone", "job_id", "task_name", "ends_at_0", "tz"):
            posted = {"cron_expression": "0 6 * * *", "ends_at_1": "", name: evil}
            assert "<script" not in shown(adder, address, **posted)
    posted = {"cron_expression": "0 6 * * *", "time_zone": evil}
    assert "&lt;script&gt;" in shown(adder, SCHEDULE, **posted)
    assert "&lt;script&gt;" in shown(adder, TASKS, task_name=evil)


@pytest.mark.parametrize("count", [10, 100])
def test_it_costs_as_much_however_many_jobs_there_are(
    editor: Client, django_assert_num_queries: Any, count: int
) -> None:
    jobs = [a_job(f"job-{number}") for number in range(count)]

    # The session, the user, two for permissions, and the job.
    with django_assert_num_queries(5):
        shown(editor, SCHEDULE, job=jobs[0].pk, cron_expression="0 6 * * *")
    with django_assert_num_queries(5):
        shown(editor, TASKS, job=jobs[0].pk, task_name=TASK)


def test_the_form_names_the_addresses_and_the_inputs_that_are_sent(
    adder: Client, editor: Client
) -> None:
    job = a_job()
    adding = adder.get(f"{JOBS}add/").content.decode()
    changing = editor.get(f"{JOBS}{job.pk}/change/").content.decode()

    for address, leading in ((SCHEDULE, "cron_expression"), (TASKS, "task_name")):
        found = re.search(f'data-url="{address}" data-fields="([^"]*)" data-job=""', adding)
        assert found is not None
        names = found[1].split()
        assert names[0] == leading
        # Without the permission to pause there is no box for it.
        assert [name for name in names if f'name="{name}"' not in adding] in ([], ["is_active"])
        assert set(names) <= set(form_data())
        assert f'data-url="{address}" data-fields="{found[1]}" data-job="{job.pk}"' in changing
    assert 'src="/static/django_dyncron/preview.js"' in adding


def test_those_who_may_only_look_see_the_panels_too() -> None:
    viewer = client_with("view_cronjob", name="viewer")

    page = viewer.get(f"{JOBS}{a_job().pk}/change/").content.decode()

    assert "At 06:30 every day" in page
    assert "send_newsletter(user_id: int, subject: str = &#x27;News&#x27;)" in page
    assert 'name="cron_expression"' not in page
