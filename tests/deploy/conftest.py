"""The image, two servers as the deployment files expect them, and containers."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.deploy.containers import Container, MakeContainer, free_port
from tests.deploy.files import VARIABLES, compose_services
from tests.deploy.image import Builder, Image
from tests.servers import PostgresServer, ValkeyServer


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A directory with a short path: the first line of a script has room for 127 characters."""
    directory = Path(tempfile.mkdtemp(prefix="dyncron-deploy-"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def image(place: Path) -> Image:
    """What the Dockerfile makes, made once."""
    return Builder(place).build()


@pytest.fixture(scope="session")
def network(image: Image) -> Iterator[dict[str, str]]:
    """Where the addresses in the deployment files are in this test.

    A PostgreSQL with the role and the database called shop, a Valkey, and free ports.
    """
    with ExitStack() as stack:
        postgres = PostgresServer.start()
        stack.callback(postgres.stop, "immediate")
        valkey = ValkeyServer.start()
        stack.callback(valkey.stop)
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE ROLE shop LOGIN")
            connection.execute("CREATE DATABASE shop OWNER shop")
        database, locks = urlsplit(postgres.url), urlsplit(valkey.url)
        web = f"127.0.0.1:{free_port()}"
        yield {
            "postgres:5432": f"{database.hostname}:{database.port}",
            "postgres.example.com:5432": f"{database.hostname}:{database.port}",
            "127.0.0.1:5432": f"{database.hostname}:{database.port}",
            "valkey:6379": f"{locks.hostname}:{locks.port}",
            "valkey.example.com:6379": f"{locks.hostname}:{locks.port}",
            "127.0.0.1:6379": f"{locks.hostname}:{locks.port}",
            "0.0.0.0:8000": web,
            "127.0.0.1:8000": web,
            "web:8000": web,
            "https://shop.example.com": f"http://{web}",
        }


@pytest.fixture
def container(image: Image, place: Path, network: dict[str, str]) -> Iterator[MakeContainer]:
    """Make containers, given their variables and more addresses; they end with the test."""
    with ExitStack() as stack:

        def make(environment: Mapping[str, str], **addresses: str) -> Container:
            number = next(_numbers)
            made = Container(image, place / f"tmp-{number}", environment, network | addresses)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def migrated(container: MakeContainer) -> None:
    """See to it that the database shop has its tables, by the command of the compose file."""
    migrate = compose_services(VARIABLES)["migrate"]
    made = container(migrate["environment"])
    assert made.run(migrate["command"]) == 0, made.output


_numbers = itertools.count(1)
