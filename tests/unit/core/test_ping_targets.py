"""Where pings go, and that nobody leads them anywhere else."""

from __future__ import annotations

import pytest

from django_dyncron.core.ping_targets import PingKind, ping_target, plain_url

RUN_ID = "00000000-0000-0000-0000-000000000007"
HC = ("https://hc-ping.com/",)


@pytest.mark.parametrize(
    "kind, target",
    [
        (PingKind.START, f"https://hc-ping.com/abc/start?rid={RUN_ID}"),
        (PingKind.SUCCESS, f"https://hc-ping.com/abc?rid={RUN_ID}"),
        (PingKind.FAILURE, f"https://hc-ping.com/abc/fail?rid={RUN_ID}"),
    ],
)
def test_the_three_addresses_of_a_monitor(kind: PingKind, target: str) -> None:
    assert ping_target("https://hc-ping.com/abc", kind, RUN_ID, HC) == target


def test_without_a_run_there_is_no_id_in_it() -> None:
    assert ping_target("https://hc-ping.com/abc", PingKind.FAILURE, "", HC) == (
        "https://hc-ping.com/abc/fail"
    )


def test_what_the_address_asks_for_stays() -> None:
    url = "https://hc-ping.com/abc/?create=1"
    assert ping_target(url, PingKind.SUCCESS, RUN_ID, HC) == (
        f"https://hc-ping.com/abc/?create=1&rid={RUN_ID}"
    )
    assert ping_target(url, PingKind.START, "", HC) == "https://hc-ping.com/abc/start?create=1"


@pytest.mark.parametrize(
    "text, url",
    [
        ("HTTPS://HC-Ping.com/Abc", "https://hc-ping.com/Abc"),
        ("https://hc-ping.com:443/abc", "https://hc-ping.com/abc"),
        ("http://hc.example.org:80", "http://hc.example.org/"),
        ("http://hc.example.org:8000/ping/a", "http://hc.example.org:8000/ping/a"),
        ("http://[2001:DB8::1]:8000/a", "http://[2001:db8::1]:8000/a"),
        ("https://hc-ping.com/abc?x=1#part", "https://hc-ping.com/abc?x=1"),
        ("https://hc-ping.com/a..b/.well-known", "https://hc-ping.com/a..b/.well-known"),
    ],
)
def test_an_address_is_written_in_one_way(text: str, url: str) -> None:
    assert plain_url(text) == url


ODD = [
    "",
    "https://hc-ping.com/in/..;/out",
    "https://hc-ping.com/in/.%2E;x=1/out",
    "abc",
    "hc-ping.com/abc",
    "//hc-ping.com/abc",
    "ftp://hc-ping.com/abc",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://",
    "https:///abc",
    "https://hc-ping.com@evil.example/abc",
    "https://user:pass@hc-ping.com/abc",
    "https://@hc-ping.com/abc",
    "https://hc-ping.com\\@evil.example/abc",
    "https://hc-ping.com/../abc",
    "https://hc-ping.com/a/./b",
    "https://hc-ping.com/a/..",
    "https://hc-ping.com/a/%2e%2e/b",
    "https://hc-ping.com/a/.%2E/b",
    "https://hc-ping.com/a/..%2fb",
    "https://hc-ping.com/a/%252e%252e/b",
    "https://hc-ping.com/a/..%5cb",
    "https://hc-ping.com:port/abc",
    "https://hc-ping.com:99999/abc",
    "https://[hc-ping.com/abc",
    "https://hc-ping.com/a b",
    " https://hc-ping.com/abc",
    "https://hc-ping.com/abc\n",
    "https://hc-ping.com/a\tbc",
    "https://hc-ping.com/abc\r\nHost: evil.example",
    "https://hc-ping.com/\N{LATIN SMALL LETTER E WITH ACUTE}",
    "https://hc\N{FULLWIDTH FULL STOP}ping.com/abc",
    "https://hc-ping.com/\0",
]


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_plain_address_goes_nowhere(text: str) -> None:
    assert plain_url(text) is None
    everything = ("https://hc-ping.com/", "http://hc-ping.com/", "https://evil.example/")
    assert [ping_target(text, kind, RUN_ID, everything) for kind in PingKind] == [None] * 3


@pytest.mark.parametrize(
    "text",
    [
        "http://hc-ping.com/team/abc",  # not encrypted
        "https://hc-ping.com/abc",
        "https://hc-ping.com/teams/abc",
        "https://hc-ping.com.evil.example/team/abc",
        "https://hc-ping.com./team/abc",
        "https://evil.example/https://hc-ping.com/team/",
        "https://hc-ping.com:8443/team/abc",
        "https://hc-ping.com/TEAM/abc",
        "https://hc-ping.com/%74eam/abc",
        "https://hc-ping.com?/team/",
        "https://hc-ping.com/#/team/",
    ],
)
def test_what_begins_otherwise_is_refused(text: str) -> None:
    beginnings = ("https://hc-ping.com/team/",)
    assert ping_target(text, PingKind.SUCCESS, RUN_ID, beginnings) is None


def test_any_of_several_beginnings_will_do() -> None:
    beginnings = ("https://one.example/", "HTTPS://Two.example:443/in/")
    assert ping_target("https://two.example/in/a", PingKind.SUCCESS, "", beginnings)
    assert ping_target("https://one.example/", PingKind.START, "", beginnings) == (
        "https://one.example/start"
    )
    assert ping_target("https://two.example/out", PingKind.SUCCESS, "", beginnings) is None
    assert ping_target("https://one.example/", PingKind.SUCCESS, "", ()) is None


def test_each_address_that_is_asked_for_is_judged() -> None:
    # What is allowed here is one page, and "/start" is another one.
    only = ("https://monitor.example/push/abc?status=up",)
    url = "https://monitor.example/push/abc?status=up"
    assert ping_target(url, PingKind.SUCCESS, RUN_ID, only) == f"{url}&rid={RUN_ID}"
    assert ping_target(url, PingKind.START, RUN_ID, only) is None


def test_a_beginning_that_is_no_address_allows_nothing() -> None:
    for beginning in ("https://", "hc-ping.com", "https://hc-ping.com/../"):
        assert ping_target("https://hc-ping.com/a", PingKind.SUCCESS, "", (beginning,)) is None
