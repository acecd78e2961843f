"""The command as a shell calls it: its arguments in any order."""

from __future__ import annotations

import itertools
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from django_dyncron.management.commands.dyncron_import import Command
from django_dyncron.models import CronJob
from tests.django.importers.conftest import document

TASK = "tests.shop.tasks.run_shell"


def called(*args: str) -> str:
    output = StringIO()
    call_command("dyncron_import", *args, stdout=output)
    return output.getvalue()


@pytest.mark.django_db
def test_source_file_and_options_in_any_order(tmp_path: Path) -> None:
    file = document(tmp_path, {"job_id": "a"}, {"job_id": "b"})
    told = set()
    for order in itertools.permutations([["json"], [file], ["--dry-run"], ["--only", "a"]]):
        args = list(itertools.chain(*order))
        if args.index("json") < args.index(file):
            told.add(called(*args).splitlines()[-1])
    assert told == {"JSON: 1 new. A dry run: nothing was written."}
    assert not CronJob.objects.exists()


@pytest.mark.django_db
def test_a_file_after_an_option_with_a_value(tmp_path: Path) -> None:
    (tmp_path / "tab").write_text("@daily tidy\n")
    called("crontab", "--task", TASK, str(tmp_path / "tab"), "--prefix", "x-")
    assert CronJob.objects.get().job_id == "x-tidy"


@pytest.mark.django_db
def test_the_last_of_only_does_not_drop_the_others(tmp_path: Path) -> None:
    file = document(tmp_path, *({"job_id": each} for each in "abc"))
    called("--only", "a", "json", "--only", "b", file)
    assert set(CronJob.objects.values_list("job_id", flat=True)) == {"a", "b"}


@pytest.mark.parametrize(
    "args, error",
    [
        (["json", "--dry-run", "a", "--json", "b"], "unrecognized arguments: b"),
        (["--dry-run", "jobs.json"], "argument source: invalid choice: 'jobs.json'"),
        (["--dry-run"], "the following arguments are required: source"),
        (["json", "--dry-runs", "a"], "unrecognized arguments: --dry-runs"),
    ],
)
def test_what_cannot_be_understood(args: list[str], error: str) -> None:
    with pytest.raises(CommandError, match=f"^Error: {error}"):
        called(*args)


def test_help_is_of_all_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().create_parser("manage.py", "dyncron_import").parse_args(["json", "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith("usage: manage.py dyncron_import [-h]")
    usage, positional = told.split("positional arguments:")
    assert "{django-celery-beat,django-q2,crontab,json,yaml} [file]" in " ".join(usage.split())
    assert "file" in positional
    assert "What to read, - for the standard input" in positional
    assert told.count("--dry-run") == 2
