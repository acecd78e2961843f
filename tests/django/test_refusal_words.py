"""Why a task is refused, in the language of whoever reads it, and where the admin says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.describe import error_text
from django_dyncron.enqueuers._options import read_options, whole, yes_or_no
from django_dyncron.registry import bind_payload, resolve_task
from tests.django.admin_pages import JOBS, TASK, client_with, form_data


@pytest.fixture
def german() -> Iterator[None]:
    with translation.override("de"):
        yield


def report(day: str, *, full: bool = False) -> None: ...


def positional(day: str, /) -> None: ...


class Shop:
    def close(self, day: str, **more: int) -> None: ...


@pytest.mark.parametrize(
    "function, payload, words",
    [
        (report, {}, "report erwartet (day, *, full=False): das Argument „day“ fehlt."),
        (
            report,
            {"fool": 1, "day": "d"},
            "report erwartet (day, *, full=False): ein Argument „fool“ gibt es nicht.",
        ),
        (report, {"fool": 1}, "report erwartet (day, *, full=False): das Argument „day“ fehlt."),
        (
            report,
            ["today"],
            'Die Nutzdaten müssen ein Objekt mit Schlüsselwortargumenten wie {"user_id": 7} sein.',
        ),
        (positional, {}, "positional erwartet (day, /): das Argument „day“ fehlt."),
    ],
)
def test_a_payload_is_refused_in_german(
    german: None, function: Any, payload: Any, words: str
) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        bind_payload(function, payload)
    assert error_text(caught.value) == words


@pytest.mark.parametrize(
    "function, payload",
    [
        (report, {}),
        (report, {"full": True}),
        (report, {"day": "d", "fool": 1}),
        (report, {"fool": 1, "food": 2}),
        (positional, {}),
        (positional, {"day": "d"}),
        (Shop.close, {"self": 7, "day": "d"}),
        (Shop.close, {"self": 7}),
    ],
)
def test_what_does_not_fit_is_named_as_python_names_it(function: Any, payload: Any) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        bind_payload(function, payload, skip=1 if function is Shop.close else 0)
    assert str(caught.value).endswith(f": {caught.value.__cause__}.")


@pytest.mark.parametrize(
    "name, words",
    [
        (
            "tests.django.admin_pages.send_newsleter",
            (
                "'tests.django.admin_pages.send_newsleter' ist kein registrierter Task und auch"
                " nicht durch ALLOWED_TASKS erlaubt. War"
                " „tests.django.admin_pages.send_newsletter“ gemeint?"
            ),
        ),
        (
            "os.system",
            "'os.system' ist kein registrierter Task und auch nicht durch ALLOWED_TASKS erlaubt.",
        ),
        (
            "tests.shop.tasks.round_prices",
            (
                "'tests.shop.tasks.round_prices' ist 'tests.shop.prices.round_prices', was"
                " ALLOWED_TASKS nicht erlaubt."
            ),
        ),
        (
            "tests.shop.tasks.restok",
            "In 'tests.shop.tasks' gibt es kein 'restok'. War „restock“ gemeint?",
        ),
        (7, "7 ist nicht der Name eines Tasks."),
    ],
)
def test_a_task_is_refused_in_german(german: None, settings: Any, name: Any, words: str) -> None:
    settings.DYNCRON = {"ALLOWED_TASKS": ["tests.shop.tasks.*"]}
    with pytest.raises(EnqueueRefused) as caught:
        resolve_task(name)
    assert error_text(caught.value) == words


@pytest.mark.parametrize(
    "options, words",
    [
        (
            {"priority": 300},
            "Die Option 'priority' darf nicht 300 sein, erlaubt ist eine ganze Zahl von 0 bis 9.",
        ),
        (
            {"eager": "50%"},
            "Die Option 'eager' darf nicht '50%' sein, erlaubt ist true oder false.",
        ),
        (
            {"prioriti": 3},
            (
                "Pigeon: Die Option 'prioriti' gibt es nicht, nur: eager, priority. War „priority“"
                " gemeint?"
            ),
        ),
    ],
)
def test_options_are_refused_in_german(german: None, options: dict[str, Any], words: str) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        read_options("Pigeon", options, {"priority": whole(0, 9), "eager": yes_or_no})
    assert error_text(caught.value) == words


def test_an_option_is_refused_although_its_reader_does_not_say_why(german: None) -> None:
    def read(value: Any) -> Any:
        raise ValueError

    with pytest.raises(EnqueueRefused) as caught:
        read_options("Pigeon", {"colour": 7}, {"colour": read})
    assert str(caught.value) == "The option 'colour' must be something else, not 7."
    assert error_text(caught.value) == (
        "Die Option 'colour' darf nicht 7 sein, erlaubt ist etwas anderes."
    )


@pytest.mark.django_db
class TestAdminInGerman:
    """Asked for by the browser, as ``LocaleMiddleware`` understands it."""

    @pytest.fixture
    def editor(self) -> Iterator[Client]:
        client = client_with("view_cronjob", "add_cronjob", "change_cronjob")
        client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
        # The middleware leaves the language of the last request behind.
        with translation.override("en"):
            yield client

    @pytest.mark.parametrize(
        "typed, field, words",
        [
            (
                {"cron_expression": "0 24 * * *"},
                "cron_expression",
                "Stunde „24“: möglich ist 0–23",
            ),
            (
                {"cron_expression": "* 2 * 3 SUN#2", "time_zone": "America/New_York"},
                "cron_expression",
                (
                    "Der Ausdruck ergibt in America/New_York keinen einzigen Termin: Er nennt nur"
                    " Minuten, die beim Vorstellen der Uhr übersprungen werden. Eine andere Zeit"
                    " wählen"
                ),
            ),
            (
                {"time_zone": "Europe/Berlinn"},
                "time_zone",
                "Die Zeitzone „Europe/Berlinn“ ist unbekannt: War „Europe/Berlin“ gemeint?",
            ),
            (
                {"task_name": TASK.replace("letter", "leter")},
                "task_name",
                (
                    "'tests.django.admin_pages.send_newsleter' ist kein registrierter Task und auch"
                    " nicht durch ALLOWED_TASKS erlaubt. War"
                    " „tests.django.admin_pages.send_newsletter“ gemeint?"
                ),
            ),
            (
                {"payload": '{"user": 7}'},
                "payload",
                "send_newsletter erwartet (user_id, subject='News'): das Argument „user_id“ fehlt.",
            ),
            (
                {"queue": "mail", "enqueuer": "tasks"},
                "queue",
                (
                    "Das Backend 'default' von TASKS hat keine Warteschlange 'mail', möglich sind:"
                    " default."
                ),
            ),
        ],
    )
    def test_form(
        self, editor: Client, settings: Any, typed: dict[str, str], field: str, words: str
    ) -> None:
        settings.DYNCRON = {
            "ENQUEUERS": {
                "tasks": "django_dyncron.enqueuers.django_tasks.DjangoTasksEnqueuer",
            }
        }
        answer = editor.post(f"{JOBS}add/", form_data(**typed))

        assert answer.context["adminform"].form.errors == {field: [words]}

    def test_panels(self, editor: Client) -> None:
        for address, typed, words in [
            ("preview/", {"cron_expression": "0 24 * * *"}, "Stunde „24“: möglich ist 0–23"),
            ("preview/task/", {"task_name": "os.system"}, "ist kein registrierter Task"),
        ]:
            text = editor.post(f"{JOBS}{address}", typed).content.decode()
            assert re.search(rf'class="dyncron-error">[^<]*{words}', text)
