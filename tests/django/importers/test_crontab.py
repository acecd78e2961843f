"""Crontab files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from django_dyncron.importers.sources.crontab import program_of
from django_dyncron.models import CronJob
from tests.django.importers.conftest import Import

pytestmark = pytest.mark.django_db

TASK = "tests.shop.tasks.run_shell"
USERS = r"""
MAILTO=ops@example.org
PATH="/usr/local/bin:/usr/bin"

# Every night,
# before the shop opens.
30 4 * * * /usr/bin/backup --full

@hourly	poll
CRON_TZ=America/New_York
0 9 * * MON-FRI report --day "$(date +\%F)"
0 0 1 * * mail -s Bill boss%Dear boss,%it is \%50.
@reboot start-everything
TZ = 'Asia/Tokyo'
5/15 * * * * poll
"""


def run(run_import: Import, tmp_path: Path, text: str, **options: Any) -> dict[str, Any]:
    file = tmp_path / "crontab"
    file.write_text(text)
    return run_import("crontab", str(file), **{"task": TASK, **options})


def test_the_crontab_of_a_user(run_import: Import, tmp_path: Path) -> None:
    report = run(run_import, tmp_path, USERS)
    assert not report["error"]
    rows = CronJob.objects.order_by("pk").values_list(
        "job_id", "cron_expression", "time_zone", "payload", "description"
    )
    assert list(rows) == [
        (
            "backup",
            "30 4 * * *",
            "",
            {"command": "/usr/bin/backup --full"},
            "Every night,\nbefore the shop opens.",
        ),
        ("poll", "@hourly", "", {"command": "poll"}, ""),
        (
            "report",
            "0 9 * * MON-FRI",
            "America/New_York",
            {"command": 'report --day "$(date +%F)"'},
            "",
        ),
        (
            "mail",
            "0 0 1 * *",
            "America/New_York",
            {"command": "mail -s Bill boss", "stdin": "Dear boss,\nit is %50."},
            "",
        ),
        ("poll-2", "5/15 * * * *", "Asia/Tokyo", {"command": "poll"}, ""),
    ]
    assert report["notes"] == [
        "Line 2: MAILTO is for mail, and is not kept.",
        "Line 3: PATH is for the commands, and is not kept.",
        (
            "Times are read in the project's time zone, UTC. If the machine has another, name it "
            "with --time-zone."
        ),
    ]
    assert report["by_name"]["start-everything"]["reason"].startswith("@reboot names no time")
    tokyo, step = report["by_name"]["poll-2"]["notes"]
    assert "for the variable TZ" in tokyo
    assert "a step without a range" in step


def test_the_crontab_of_the_system(run_import: Import, tmp_path: Path) -> None:
    text = "17 *	* * *	root	cd / && run-parts /etc/cron.hourly\n@daily www-data tidy\n"
    report = run(run_import, tmp_path, text, user_column=True, time_zone="Europe/Berlin")
    rows = CronJob.objects.order_by("pk").values_list("cron_expression", "time_zone", "payload")
    assert list(rows) == [
        (
            "17 * * * *",
            "Europe/Berlin",
            {"command": "cd / && run-parts /etc/cron.hourly"},
        ),
        ("@daily", "Europe/Berlin", {"command": "tidy"}),
    ]
    assert report["by_name"]["tidy"]["notes"] == [
        "It was run as www-data; a task runs as its worker does."
    ]


@pytest.mark.parametrize(
    "text, user_column, error",
    [
        (
            "@daily www-data tidy\n17 *\t* * *\troot\ttidy",
            False,
            "Line 2 has a column for the user",
        ),
        ("@daily tidy all\n0 1 * * * /usr/bin/tidy -q", True, "Line 2 has '/usr/bin/tidy' where"),
    ],
)
def test_the_wrong_form_is_told_and_nothing_is_imported(
    run_import: Import, tmp_path: Path, text: str, user_column: bool, error: str
) -> None:
    report = run(run_import, tmp_path, text, user_column=user_column, skip_invalid=True)
    assert error in report["error"]
    assert not CronJob.objects.exists()


def test_comments_that_are_not_about_the_next_line(run_import: Import, tmp_path: Path) -> None:
    text = (
        "# Edit this file to introduce tasks to be run by cron.\n#\n"
        "# m h  dom mon dow   command\n"
        "0 1 * * * backup\n"
        "# Old:\n"
        "#0 2 * * * sync --password=secret\n"
        "#@reboot warm-up\n"
        "# Before the shop opens.\n"
        "0 3 * * * tidy\n"
    )
    run(run_import, tmp_path, text)
    assert dict(CronJob.objects.values_list("job_id", "description")) == {
        "backup": "",
        "tidy": "Before the shop opens.",
    }


def test_names_that_numbers_would_make_twice(run_import: Import, tmp_path: Path) -> None:
    run(run_import, tmp_path, "0 1 * * * poll\n0 2 * * * poll\n0 3 * * * poll-2\n")
    assert list(CronJob.objects.order_by("pk").values_list("job_id", flat=True)) == [
        "poll",
        "poll-2",
        "poll-2-2",
    ]


def test_ends_of_lines(run_import: Import, tmp_path: Path) -> None:
    """From Windows, with a byte order mark; and what only Unicode calls the end of a line."""
    file = tmp_path / "crontab"
    file.write_bytes("\ufeff0 1 * * * tidy\r\n0 2 * * * say 'a\u2028b'\r\n".encode())
    assert not run_import("crontab", str(file), task=TASK)["error"]
    assert list(CronJob.objects.order_by("pk").values_list("payload", flat=True)) == [
        {"command": "tidy"},
        {"command": "say 'a\u2028b'"},
    ]


def test_done_again_it_imports_nothing_twice(run_import: Import, tmp_path: Path) -> None:
    run(run_import, tmp_path, USERS)
    report = run(run_import, tmp_path, USERS)
    assert {job["action"] for job in report["jobs"]} == {"nothing"}
    assert CronJob.objects.count() == 5


def test_every_line_that_cannot_be_read_is_told(run_import: Import, tmp_path: Path) -> None:
    text = (
        "0 0 31 2 * never\n60 * * * * poll\n0 1 * * *\n@daily\nCRON_TZ=Mars/Base\nhello\n"
        "@every 5m x\n0 1 * * * fine"
    )
    report = run(run_import, tmp_path, text)
    lines = [" ".join(fault.split()[:2]).rstrip(":") for fault in report["faults"]]
    assert lines == ["Line 1", "Line 2", "Line 3", "Line 4", "Line 5", "Line 6", "Line 7"]
    assert "use 0–59" in report["faults"][1]
    assert "is not a schedule and a command" in report["faults"][2]
    assert report["error"].startswith("Nothing was imported")
    assert not CronJob.objects.exists()

    assert not run(run_import, tmp_path, text, skip_invalid=True)["error"]
    assert CronJob.objects.get().job_id == "fine"


def test_a_task_must_be_named_and_must_exist(run_import: Import, tmp_path: Path) -> None:
    assert "name it with --task" in run(run_import, tmp_path, USERS, task="")["error"]
    report = run(run_import, tmp_path, "@daily tidy", task="os.system")
    assert "os.system" in report["jobs"][0]["faults"]["task_name"][0]
    report = run(run_import, tmp_path, "@daily tidy", task="tests.shop.tasks.restock")
    assert "command" in report["jobs"][0]["faults"]["payload"][0]
    assert not CronJob.objects.exists()


def test_a_time_zone_that_does_not_exist_even_if_no_line_is_read_in_it(
    run_import: Import, tmp_path: Path
) -> None:
    text = "CRON_TZ=Europe/Berlin\n0 1 * * * tidy\n"
    error = run(run_import, tmp_path, text, time_zone="Mars/Base", skip_invalid=True)["error"]
    assert error.startswith("--time-zone cannot be used: ")
    assert "Mars/Base" in error
    assert not CronJob.objects.exists()


def test_a_pattern_that_names_a_line_which_cannot_be_read(
    run_import: Import, tmp_path: Path
) -> None:
    report = run(run_import, tmp_path, "60 * * * * poll\n0 1 * * * tidy\n", only=["poll"])
    assert [fault[:7] for fault in report["faults"]] == ["Line 1:"]
    assert report["error"].startswith("Nothing was imported: mend what is refused")


def test_a_file_that_cannot_be_read(run_import: Import, tmp_path: Path) -> None:
    assert "cannot be read" in run_import("crontab", str(tmp_path), task=TASK)["error"]
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in run_import("crontab", str(tmp_path / "binary"), task=TASK)["error"]
    assert run_import("crontab", task=TASK)["error"].startswith("Name the crontab file to read")


@pytest.mark.parametrize(
    "command, job_id",
    [
        ("/usr/bin/mysqldump -psecret shop", "mysqldump"),
        ("backup secret", "backup"),
        ("cd /srv/shop && ./manage.py clearsessions", "clearsessions"),
        ("/srv/.venv/bin/python -u /srv/shop/tidy.py --all", "tidy.py"),
        ("TOKEN=secret nice -n 5 /opt/poll.sh", "poll.sh"),
        ("cd / && run-parts /etc/cron.hourly", "run-parts"),
        ("$HOME/bin/tidy", "tidy"),
        ("TOKEN='a secret' tidy", "command"),
        ("[ -x /usr/bin/tidy ] && tidy", "tidy"),
        ("", "command"),
    ],
)
def test_a_job_is_called_by_the_program_alone(command: str, job_id: str) -> None:
    assert program_of(command) == job_id
