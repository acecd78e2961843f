"""The package in other languages: catalogs that are whole, and pages that read well."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import django
import pytest
from babel.messages import Catalog, Message
from babel.messages.mofile import read_mo
from django.utils import translation

from django_dyncron.admin.moments import relative
from django_dyncron.core.notices import Notice, NoticeCode
from django_dyncron.describe import describe, notice_text
from tests.django.admin_pages import JOBS, REPLICAS, RUNS, a_job, a_run, at, client_with
from tests.messages import PACKAGE, catalog_files, read_catalog, template, texts

Key: TypeAlias = tuple[str | None, str | tuple[str, ...]]

_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?(?:\.\d)?[sdfra]|\{\w*\}")


def key(message: Message) -> Key:
    return message.context, message.id if isinstance(message.id, str) else tuple(message.id)


def translated(catalog: Catalog) -> dict[Key, Any]:
    return {
        key(message): tuple(message.string) if message.pluralizable else message.string
        for message in catalog
        if message.id
    }


@pytest.fixture(params=catalog_files(), ids=lambda path: path.parts[-3])
def catalog_file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def german() -> Iterator[None]:
    with translation.override("de"):
        yield


# --- the catalogs ---


def test_texts_are_found_wherever_they_are() -> None:
    found = {(text.context, text.singular, text.plural) for text in texts()}
    assert {
        (None, "Run now", None),
        (None, "cron job", None),
        (None, "Runs in leap years only.", None),
        (None, "a step of 0 never moves on, use 1 or more", None),
        (None, 'Did you mean "%(name)s"?', None),
        (None, "Paused %d cron job.", "Paused %d cron jobs."),
        ("on …", "Monday", None),
        ("in …, … ago", "%(num)d day", "%(num)d days"),
        (None, "Busiest minutes", None),
        (None, "There is no preview at the moment; “Check” may still work.", None),
        (None, "asked for by %(name)s", None),
        (None, "%(count)s cron job is not counted.", "%(count)s cron jobs are not counted."),
    } <= found


def test_there_is_german() -> None:
    assert [path.parts[-3] for path in catalog_files()] == ["de"]


def test_a_catalog_has_every_text_and_nothing_else(catalog_file: Path) -> None:
    """If this fails: ``make messages``, translate what it lists, ``make messages`` again."""
    wanted, there = set(translated(template())), set(translated(read_catalog(catalog_file)))
    assert {"missing": wanted - there, "left over": there - wanted} == {
        "missing": set(),
        "left over": set(),
    }


def test_every_text_is_translated(catalog_file: Path) -> None:
    lacking = [
        message.id
        for message in read_catalog(catalog_file)
        if message.id
        and (message.fuzzy or not all(message.string if message.pluralizable else [message.string]))
    ]
    assert lacking == []


def test_placeholders_are_kept(catalog_file: Path) -> None:
    changed = [
        (original, translation)
        for (_, original), found in translated(read_catalog(catalog_file)).items()
        for translation in ([found] if isinstance(found, str) else found)
        if _placeholders(translation)
        != _placeholders(original if isinstance(original, str) else original[-1])
    ]
    assert changed == []


def test_the_compiled_catalog_is_up_to_date(catalog_file: Path) -> None:
    """If this fails: ``make messages``."""
    with catalog_file.with_suffix(".mo").open("rb") as file:
        compiled = translated(read_mo(file))
    assert compiled == translated(read_catalog(catalog_file))


def test_what_django_says_too_is_said_in_its_words(catalog_file: Path) -> None:
    """Django merges the catalogs of all apps, so that ours would change its admin."""
    ours = translated(read_catalog(catalog_file))
    theirs: dict[Key, Any] = {}
    root = Path(django.__file__).parent
    parts = Path(*catalog_file.relative_to(PACKAGE).parts).with_suffix(".mo")
    for app in [root / "conf", *(root / "contrib").iterdir()]:
        if (app / parts).exists():
            with (app / parts).open("rb") as file:
                theirs |= translated(read_mo(file))
    shared = ours.keys() & theirs.keys()
    assert (None, "Home") in shared
    assert {each: ours[each] for each in shared} == {each: theirs[each] for each in shared}


def _placeholders(text: str) -> Counter[str]:
    return Counter(_PLACEHOLDER.findall(text))


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.html")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_a_template_says_nothing_untranslated(path: Path) -> None:
    text = re.sub(r"\{#.*?#\}", "", path.read_text(encoding="utf-8"))
    for silent in (r"blocktranslate\b.*?\{% endblocktranslate", r"block bodyclass .*?\{% endblock"):
        text = re.sub(rf"\{{% {silent} %\}}", "", text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", text)
    spoken = re.findall(r'\b(?:alt|aria-label|placeholder|title)="([^"]*)"', text)
    # A button's value is read by nobody, an input's of this kind by everybody.
    spoken += re.findall(r'<input type="submit"[^>]*?\bvalue="([^"]*)"', text)
    spoken.append(re.sub(r"<[^>]*>|&\w+;", "", text))
    assert re.findall(r"\w+", " ".join(spoken)) == []


# --- German ---


@pytest.mark.parametrize(
    "expression, words",
    [
        ("* * * * *", "Jede Minute"),
        ("*/5 * * * *", "Alle 5 Minuten"),
        ("@hourly", "Stündlich"),
        ("30 * * * *", "Zur Minute 30 jeder Stunde"),
        ("5/15 * * * *", "Zu den Minuten 5, 20, 35 und 50 jeder Stunde"),
        ("30 4 * * *", "Täglich um 04:30"),
        ("0 7 * * 1", "Montags um 07:00"),
        ("0 9,17 * * 1-5", "Montags bis freitags um 09:00 und 17:00"),
        ("30 */3 * * *", "Täglich alle 3 Stunden ab 00:30"),
        ("0 9-17 * * MON-FRI", "Montags bis freitags stündlich von 09:00 bis 17:00"),
        ("30 1,5,9-12,20 * * *", "Täglich zur Minute 30 der Stunden 1, 5, 9 bis 12 und 20"),
        ("*/15 9-17 * * 1-5", "Montags bis freitags alle 15 Minuten von 09:00 bis 17:59"),
        ("* 3,5,6 * * *", "Täglich jede Minute von 03:00 bis 03:59 und von 05:00 bis 06:59"),
        ("30 4 1,15 * 5", "Am 1. und 15. des Monats oder freitags um 04:30"),
        ("0 0 1 * *", "Am 1. des Monats um 00:00"),
        ("0 0 L * *", "Am letzten Tag des Monats um 00:00"),
        ("0 0 LW * *", "Am letzten Werktag (Mo–Fr) des Monats um 00:00"),
        ("0 0 20,15W * *", "Am 20. und am Werktag (Mo–Fr) nächst dem 15. des Monats um 00:00"),
        ("0 0 * * 6,0", "Samstags und sonntags um 00:00"),
        ("0 0 * * MON#1", "Am ersten Montag des Monats um 00:00"),
        ("0 0 * * L5,3", "Mittwochs und am letzten Freitag des Monats um 00:00"),
        ("0 0 */10 * 0", "Am 1., 11., 21. und 31. des Monats, aber nur sonntags um 00:00"),
        ("0 6 * 1-3,7 *", "Um 06:00, nur im Januar bis März und Juli"),
        ("@yearly", "Am 1. des Monats um 00:00, nur im Januar"),
    ],
)
def test_a_schedule_in_german(german: None, expression: str, words: str) -> None:
    assert describe(expression) == words


@pytest.mark.parametrize(
    "code, values, text",
    [
        (NoticeCode.LEAP_YEARS_ONLY, {}, "Läuft nur in Schaltjahren."),
        (NoticeCode.SHORT_MONTHS, {"day": 31}, "Lässt die Monate aus, die keinen 31. haben."),
        (
            NoticeCode.UNEVEN_STEP,
            {"field": "minute", "step": 25, "values": (0, 25, 50)},
            "Läuft zu den Minuten :00, :25 und :50, nicht alle 25 Minuten.",
        ),
        (
            NoticeCode.UNEVEN_STEP,
            {"field": "day_of_week", "step": 2, "values": (0, 2, 4, 6)},
            "Läuft am Sonntag, Dienstag, Donnerstag und Samstag, nicht alle 2 Tage.",
        ),
    ],
)
def test_a_notice_in_german(
    german: None, code: NoticeCode, values: dict[str, Any], text: str
) -> None:
    assert notice_text(Notice(code, values)) == text


@pytest.mark.parametrize(
    "away, words",
    [
        (timedelta(days=2), "in 2 Tagen"),
        (timedelta(days=1, hours=3), "in 1 Tag, 3 Stunden"),
        (timedelta(days=-400), "vor 1 Jahr, 1 Monat"),
        (timedelta(days=-75), "vor 2 Monaten, 2 Wochen"),
        (timedelta(minutes=-1), "vor 1 Minute"),
        (timedelta(seconds=40), "in 40 s"),
    ],
)
def test_what_is_away_is_inflected(german: None, away: timedelta, words: str) -> None:
    now = at("2026-11-30T12:00Z")
    assert relative(now + away, now).replace("\xa0", " ") == words


@pytest.mark.django_db
class TestAdminInGerman:
    """Asked for by the browser, as ``LocaleMiddleware`` understands it."""

    def page(self, address: str, **posted: Any) -> str:
        client = self.client
        answer = client.post(address, posted, follow=True) if posted else client.get(address)
        assert answer.status_code == 200
        text: str = answer.content.decode()
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))

    @pytest.fixture(autouse=True)
    def _logged_in(self) -> Iterator[None]:
        self.client = client_with(
            "view_cronjob",
            "add_cronjob",
            "change_cronjob",
            "pause_cronjob",
            "run_cronjob",
            "view_cronrun",
            "view_replica",
        )
        self.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
        # The middleware leaves the language of the last request behind.
        with translation.override("en"):
            yield

    def test_list(self) -> None:
        a_job(cron_expression="0 7 * * 1")
        a_job("weekly", is_active=False, pause_reason="Umzug")
        text = self.page(JOBS)
        assert "Montags um 07:00" in text
        assert "Pausiert Umzug" in text
        assert "Suche nach Job-ID, Task oder Beschreibung." in text
        assert "Noch nie ist ein Scheduler gelaufen" in text
        assert "Alles pausieren" in text
        assert "2 Cronjobs" in text

    def test_form(self) -> None:
        job = a_job(cron_expression="0 7 * * 1")
        a_run("newsletter", "2026-11-30T07:00Z", "succeeded")
        text = self.page(f"{JOBS}{job.pk}/change/")
        assert "Verpasste, überlappende und gestreute Läufe" in text
        assert "Nachholfenster (Sekunden):" in text
        assert "Zum Beispiel Europe/Berlin. Leer: die des Projekts." in text
        assert "Nächste Läufe" in text

    def test_other_pages(self) -> None:
        a_run("newsletter", "2026-11-30T07:00Z", "lost")
        assert "verloren" in self.page(RUNS)
        assert "Minuten mit den meisten Läufen" in self.page(f"{JOBS}overview/")
        assert "Replikat" in self.page(REPLICAS)

    def test_one_and_many(self) -> None:
        keys = [a_job("first").pk, a_job("second").pk]
        for chosen, told in [
            (keys[:1], "1 Cronjob wurde fortgesetzt; inzwischen"),
            (keys, "2 Cronjobs wurden fortgesetzt; inzwischen"),
        ]:
            a_job_is_paused(keys)
            text = self.page(JOBS, action="resume_jobs", _selected_action=chosen)
            assert told in text


def a_job_is_paused(keys: list[int]) -> None:
    from django_dyncron.models import CronJob

    CronJob.objects.filter(pk__in=keys).update(is_active=False)
