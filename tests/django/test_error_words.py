"""What is wrong with a schedule, in the language of whoever reads it."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from croniter import CroniterBadCronError
from django.core.management import CommandError, call_command
from django.utils import translation

from django_dyncron import CronSchedule, InvalidCronExpression
from django_dyncron.core.phrases import Phrase
from django_dyncron.core.refusals import RefusalCode
from django_dyncron.describe import error_text

ROOT = Path(__file__).resolve().parents[2]
FIVE = "(Minute, Stunde, Tag des Monats, Monat, Wochentag)"

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("out_of_range", {"expression": "60 * * * *"}, "Minute „60“: möglich ist 0–59"),
    (
        "out_of_range",
        {"expression": "0 0 1 13 *"},
        "Monat „13“: möglich ist 1–12 oder JAN–DEC",
    ),
    ("long_name", {"expression": "0 0 1 january *"}, "Monat „january“: JAN verwenden"),
    (
        "wraps_around",
        {"expression": "0 22-2 * * *"},
        (
            "Stunde „22-2“: Bereiche laufen nicht über das Ende hinaus, stattdessen 22,23,0-2"
            " verwenden"
        ),
    ),
    (
        "one_value_range",
        {"expression": "0 5-5 * * *"},
        "Stunde „5-5“: der Bereich enthält nur einen Wert, 5 verwenden",
    ),
    (
        "not_a_step",
        {"expression": "*/x * * * *"},
        "Minute „*/x“: „x“ ist kein Schritt, eine Zahl wie 5 verwenden",
    ),
    (
        "step_of_zero",
        {"expression": "*/0 * * * *"},
        "Minute „*/0“: ein Schritt von 0 kommt nie voran, 1 oder mehr angeben",
    ),
    (
        "step_from_weekday",
        {"expression": "0 0 * * 1/2"},
        "Wochentag „1/2“: ein Anfang mit Schritt passt nicht zu Wochentagen, 1-6/2 verwenden",
    ),
    (
        "step_from_last",
        {"expression": "59/15 * * * *"},
        (
            "Minute „59/15“: ein Schritt vom letzten Wert aus führt nirgendwohin, 59 oder */15"
            " verwenden"
        ),
    ),
    (
        "missing_value",
        {"expression": "1,,2 * * * *"},
        "Minute „“: ein Wert fehlt, das Komma entfernen oder ihn ergänzen",
    ),
    (
        "not_understood",
        {"expression": "0 0 1 %s *"},
        (
            "Monat „%s“: nicht verstanden, möglich sind 1–12 oder JAN–DEC, „*“ sowie Bereiche und"
            " Schritte daraus"
        ),
    ),
    (
        "random",
        {"expression": "R * * * *"},
        "Minute „R“: ein Zufallswert wäre auf jedem Replikat ein anderer, H verwenden",
    ),
    (
        "star_in_range",
        {"expression": "*-5 * * * *"},
        "Minute „*-5“: „*“ hat kein Ende, „*“ allein oder einen Bereich wie 1-5 verwenden",
    ),
    (
        "last_weekday",
        {"expression": "0 0 * * L"},
        "Wochentag „L“: den Wochentag dazu angeben, etwa L5 für den letzten Freitag",
    ),
    (
        "nth_weekday",
        {"expression": "0 0 * * MON#6"},
        "Wochentag „MON#6“: nach „#“ ist 1 bis 5 möglich, L5 ist der letzte Freitag",
    ),
    (
        "misspelt_hash",
        {"expression": "H(5) * * * *"},
        "Minute „H(5)“: möglich sind H, H/15, H(0-29) und H(0-29)/10, mit Werten dieses Feldes",
    ),
    (
        "hash_without_id",
        {"expression": "H * * * *"},
        "Minute „H“: H wählt einen Wert nach der Job-ID, die hier nicht bekannt ist",
    ),
    (
        "hash_id_not_text",
        {"expression": "H * * * *", "hash_id": 7},
        "Eine hash_id ist die Job-ID als Text, nicht 7",
    ),
    (
        "no_such_day",
        {"expression": "0 0 30 2 *"},
        "Tag des Monats „30“: läuft nie, denn im Monat „2“ gibt es keinen solchen Tag",
    ),
    (
        "no_such_weekday",
        {"expression": "0 0 */20 * L6"},
        "Tag des Monats „*/20“: läuft nie, denn der Tag fällt nie auf „L6“",
    ),
    (
        "no_such_weekday",
        {"expression": "0 0 */30 2 MON#5"},
        "Tag des Monats „*/30“: läuft nie, denn im Monat „2“ fällt der Tag nie auf „1#5“",
    ),
    (
        "never_in_zone",
        {"expression": "* 2 * 3 SUN#2", "time_zone": "America/New_York"},
        (
            "Der Ausdruck ergibt in America/New_York keinen einzigen Termin: Er nennt nur Minuten,"
            " die beim Vorstellen der Uhr übersprungen werden. Eine andere Zeit wählen"
        ),
    ),
    (
        "empty",
        {"expression": ""},
        f"Der Ausdruck ist leer: fünf Felder angeben {FIVE}, etwa „0 6 * * *“",
    ),
    ("field_count", {"expression": "5"}, f"Der Ausdruck hat 1 Feld: fünf angeben {FIVE}"),
    ("field_count", {"expression": "* * *"}, f"Der Ausdruck hat 3 Felder: fünf angeben {FIVE}"),
    (
        "has_seconds",
        {"expression": "0 0 6 * * *"},
        f"Der Ausdruck hat 6 Felder: Sekunden gibt es hier nicht, fünf angeben {FIVE}",
    ),
    (
        "has_years",
        {"expression": "0 0 6 * * * 2026"},
        f"Der Ausdruck hat 7 Felder: Sekunden und Jahre gibt es hier nicht, fünf angeben {FIVE}",
    ),
    (
        "reboot",
        {"expression": "@reboot"},
        (
            "„@reboot“ nennt keine Zeit, und mehrere Replikate haben keinen gemeinsamen Start:"
            " einen Zeitplan angeben"
        ),
    ),
    (
        "every",
        {"expression": "@every 5m"},
        "„@every“ hängt davon ab, wann es gestartet wurde: Schritte verwenden, etwa „*/5 * * * *“",
    ),
    (
        "unknown_alias",
        {"expression": "@100%d"},
        (
            "„@100%d“ ist kein Kürzel: möglich sind @hourly, @daily, @midnight, @weekly, @monthly,"
            " @yearly, @annually"
        ),
    ),
    (
        "not_ascii",
        {"expression": "0 9\u201317 * * *"},
        r"Der Ausdruck enthält '\u2013': nur einfache ASCII-Zeichen verwenden",
    ),
    (
        "too_long",
        {"expression": "0" * 248 + " * * * *"},
        "Der Ausdruck hat 256 Zeichen: höchstens 255 sind erlaubt",
    ),
    (
        "not_text",
        {"expression": 7},
        "Ein Cron-Ausdruck ist ein Text wie „0 6 * * *“, nicht int",
    ),
    (
        "unknown_policy",
        {"expression": "* * * * *", "dst_gap": "later"},
        "dst_gap kennt 'later' nicht: möglich sind run_after, skip",
    ),
    (
        "unknown_time_zone",
        {"expression": "* * * * *", "time_zone": "Eurpe/Paris"},
        "Die Zeitzone „Eurpe/Paris“ ist unbekannt: War „Europe/Paris“ gemeint?",
    ),
    (
        "unknown_time_zone",
        {"expression": "* * * * *", "time_zone": "%(name)s"},
        "Die Zeitzone „%(name)s“ ist unbekannt: einen IANA-Namen wie „Europe/Paris“ verwenden",
    ),
    (
        "time_zone_not_text",
        {"expression": "* * * * *", "time_zone": 7},
        "Eine Zeitzone ist ein Name wie „Europe/Paris“, nicht 7",
    ),
]

# What no expression leads to as long as croniter reads what its releases agree on.
ELSEWHERE = {"not_accepted"}


@pytest.fixture
def german() -> Iterator[None]:
    with translation.override("de"):
        yield


def refused(**arguments: Any) -> InvalidCronExpression:
    with pytest.raises(InvalidCronExpression) as caught:
        CronSchedule.parse(**arguments)
    return caught.value


@pytest.mark.parametrize("code, arguments, words", REFUSED)
def test_a_schedule_is_refused_in_german(
    german: None, code: str, arguments: dict[str, Any], words: str
) -> None:
    error = refused(**arguments)
    assert (error.code, error_text(error)) == (code, words)


@pytest.mark.parametrize("code, arguments, words", REFUSED)
def test_in_english_it_is_what_the_error_says(
    code: str, arguments: dict[str, Any], words: str
) -> None:
    error = refused(**arguments)
    assert error_text(error) == str(error) != words


def test_each_code_is_shown_here() -> None:
    assert {code for code, _arguments, _words in REFUSED} | ELSEWHERE == set(RefusalCode)


def test_each_code_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "cron-syntax.rst").read_text(encoding="utf-8")
    table = text.partition("What is refused\n")[2].partition("What is legal but")[0]
    assert set(RefusalCode) - set(re.findall(r"``(\w+)``", table)) == set()


def test_what_only_croniter_refuses_is_said_in_german_too(
    german: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(expression: str) -> None:
        raise CroniterBadCronError(f"[{expression}] is not acceptable")

    monkeypatch.setattr("django_dyncron.core.dialect.croniter.expand", refuse)
    error = refused(expression="0 1-22/21 * * *")
    assert error.code == "not_accepted"
    assert error_text(error) == (
        "Stunde „1-22/21“: von croniter abgelehnt: [* 1-22/21 * * *] is not acceptable"
    )


def test_an_error_comes_back_whole_from_another_process(german: None) -> None:
    for code, arguments, words in REFUSED:
        error = pickle.loads(pickle.dumps(refused(**arguments)))  # noqa: S301
        assert (error.code, error_text(error)) == (code, words)


def test_the_values_of_an_error_are_plain() -> None:
    values = [json.loads(json.dumps(refused(**arguments).params)) for _, arguments, _ in REFUSED]
    assert {"bounds": "1–12 or JAN–DEC"} in values
    assert {"last": 59, "step": 15} in values
    assert {"name": "Eurpe/Paris", "suggestion": "Europe/Paris"} in values


def test_an_error_made_elsewhere_says_its_own_words(german: None) -> None:
    error = InvalidCronExpression("100% wrong")
    assert (error.code, dict(error.params)) == ("", {})
    assert error_text(error) == "100% wrong"
    assert error_text(InvalidCronExpression(Phrase("Hour"))) == "Stunde"
    assert error_text(ValueError()) == ""


def test_the_preview_command_refuses_in_german(german: None) -> None:
    with pytest.raises(CommandError, match=r"^Stunde „24“: möglich ist 0–23$"):
        call_command("dyncron_preview", "0 24 * * *")
