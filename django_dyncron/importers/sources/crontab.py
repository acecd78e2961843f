"""Crontab files, in the form of a user's and in that of the system, with a column for the user."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from ...core.exceptions import InvalidCronExpression
from ...core.schedule import CronSchedule
from ...core.text import storable
from ...core.zones import load_zone
from ...outlook import planning_rules
from ..entries import Entry, LeftOut, Source, SourceError

_VARIABLE = re.compile(r"""\s*(["']?)(\w+)\1\s*=\s*(.*?)\s*""")
_OPEN_STEP = re.compile(r"(?:^|[\s,])\d+/\d")
_PERCENT = re.compile(r"(?<!\\)%")
_MANAGE = re.compile(r"\bmanage\.py\s+(\w{1,80})")
_NO_PROGRAM = re.compile(
    r"-|\w+=|\d|(?:\S*/)?(?:bash|env|nice|perl|php|python[\d.]*|ruby|sh|sudo|timeout)$", re.ASCII
)
_PLAIN = re.compile(r"[\w.+-]+", re.ASCII)
_USER = re.compile(r"[a-z_][\w.-]*\$?", re.ASCII | re.IGNORECASE)
_COLUMNS = re.compile(r"(?:minute|m|min)\s+(?:hour|h)\s+", re.IGNORECASE)
_LONGEST_ID = 80


def read_crontab(text: str, task: str, *, user_column: bool = False, time_zone: str = "") -> Source:
    """Read a crontab whose commands are to be run by ``task``, as its argument ``command``.

    What follows a ``%`` is its argument ``stdin``. ``time_zone`` is that of the machine, where the
    file does not name one; blank is the project's. Raises :class:`SourceError` without a task, for
    a zone that does not exist, and if it is a crontab of the other form.
    """
    if not task:
        raise SourceError(
            "A crontab holds shell commands, and a job calls a task: write one that runs its "
            "argument 'command', and name it with --task."
        )
    try:
        if time_zone:
            load_zone(time_zone)
    except InvalidCronExpression as error:
        raise SourceError(f"--time-zone cannot be used: {error}.") from error
    reader = _Reader(task, user_column, time_zone)
    # Not at every character that Unicode calls the end of a line: commands may hold those.
    for number, line in enumerate(text.split("\n"), 1):
        reader.read(number, line.strip(" \t\r"))
    reader.note_zone()
    return reader.source


@dataclass
class _Reader:
    """Reads line by line; variables count for the lines below them."""

    task: str
    user_column: bool
    time_zone: str
    source: Source = field(default_factory=lambda: Source("crontab"))
    comment: list[str] = field(default_factory=list)
    zone_notes: tuple[str, ...] = ()
    names: set[str] = field(default_factory=set)

    def read(self, number: int, line: str) -> None:
        if not line:
            self.comment.clear()
        elif line.startswith("#"):
            self._comment(line.lstrip("#").strip())
        elif match := _VARIABLE.fullmatch(line):
            self._variable(number, match[2], match[3])
        else:
            self._entry(number, line)
            self.comment.clear()

    def note_zone(self) -> None:
        """Say so if times are read in the zone of the project, as the machine may have another."""
        if any(not entry.values["time_zone"] for entry in self.source.entries):
            self.source.notes.append(
                f"Times are read in the project's time zone, {planning_rules().time_zone}. If the "
                "machine has another, name it with --time-zone."
            )

    def _comment(self, text: str) -> None:
        expression, _user, command = self._parted(text)
        # What is above a heading or a line that was switched off is not about the next line.
        if _COLUMNS.match(text) or (command and _is_expression(expression)):
            self.comment.clear()
        else:
            self.comment.append(storable(text))

    def _variable(self, number: int, name: str, value: str) -> None:
        if value[:1] in ("'", '"') and value[-1:] == value[:1]:
            value = value[1:-1]
        if name not in ("CRON_TZ", "TZ"):
            what = "mail" if name in ("MAILTO", "MAILFROM") else "the commands"
            self.source.notes.append(f"Line {number}: {name} is for {what}, and is not kept.")
            return
        try:
            load_zone(value)
        except InvalidCronExpression as error:
            self.source.faults.append(f"Line {number}: {error}.")
            return
        self.time_zone = value
        self.zone_notes = ()
        if name == "TZ":
            note = (
                f"Its times are read in {value}, for the variable TZ; some crons, such as Debian's,"
                " set it for the command alone."
            )
            self.zone_notes = (note,)

    def _entry(self, number: int, line: str) -> None:
        place = f"line {number}"
        expression, user, command = self._parted(line)
        if not command:
            user_too = ", a user" if self.user_column else ""
            self.source.faults.append(f"Line {number} is not a schedule{user_too} and a command.")
            return
        self._refuse_other_form(number, user, command)
        name = self._name(command)
        if expression.lower() == "@reboot":
            reason = "@reboot names no time: let whatever starts the machine, or the app, run it."
            self.source.left_out.append(LeftOut(name, reason, place=place))
            return
        try:
            CronSchedule.parse(expression, hash_id=name)
        except InvalidCronExpression as error:
            self.source.faults.append(f"Line {number}: {error}.")
            self.source.unread.append(name)
            return
        notes = list(self.zone_notes)
        if user:
            notes.append(f"It was run as {user}; a task runs as its worker does.")
        if _OPEN_STEP.search(expression):
            notes.append(
                f"'{expression}' has a step without a range, which some crons read as one value."
            )
        values: dict[str, Any] = {
            "cron_expression": expression,
            "time_zone": self.time_zone,
            "task_name": self.task,
            "payload": _payload(command),
            "description": "\n".join(self.comment).strip(),
        }
        self.source.entries.append(Entry(name, values, tuple(notes), place=place))

    def _refuse_other_form(self, number: int, user: str, command: str) -> None:
        if self.user_column and not _USER.fullmatch(user):
            raise SourceError(
                f"Line {number} has {user!r} where the user should be: is it a crontab of the "
                "system? If not, leave --user-column out."
            )
        if not self.user_column and command.split(maxsplit=1)[0] == "root":
            raise SourceError(
                f"Line {number} has a column for the user, as a crontab of the system has: say "
                "--user-column."
            )

    def _parted(self, line: str) -> tuple[str, str, str]:
        """Return expression, user and command, the last of them blank if something is missing."""
        fields = 1 if line.startswith("@") else 5
        parts = line.split(None, fields + self.user_column)
        if len(parts) <= fields + self.user_column:
            return "", "", ""
        user = parts[fields] if self.user_column else ""
        return " ".join(parts[:fields]), user, parts[-1]

    def _name(self, command: str) -> str:
        """Return a job id made of a command's program, numbered if it comes again."""
        program = program_of(command)
        numbered = (f"{program}-{number}" for number in count(2))
        name = next(name for name in chain([program], numbered) if name not in self.names)
        self.names.add(name)
        return name


def _is_expression(text: str) -> bool:
    try:
        CronSchedule.parse(text, hash_id="job")
    except InvalidCronExpression:
        return text.lower() == "@reboot"
    return True


def program_of(command: str) -> str:
    """Return what a command calls, without arguments: these may be secret, and job ids are not."""
    if match := _MANAGE.search(command):
        return match[1]
    for part in re.split(r"&&|;|\|\|", _PERCENT.split(command)[0]):
        words = part.split()
        # A wrapper's own arguments are not the program.
        names = [word.rpartition("/")[2] for word in words if not _NO_PROGRAM.match(word)]
        if words and words[0] != "cd" and names and _PLAIN.fullmatch(names[0]):
            return names[0][:_LONGEST_ID]
    return "command"


def _payload(command: str) -> dict[str, str]:
    """Part a command from its input, as crontab(5) has it: at the first ``%`` without a backslash.

    Further ones are ends of lines.
    """
    parts = [part.replace("\\%", "%") for part in _PERCENT.split(command)]
    payload = {"command": parts[0].strip()}
    if len(parts) > 1:
        payload["stdin"] = "\n".join(parts[1:])
    return payload
