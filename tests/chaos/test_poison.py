"""One job in a hundred is broken, each in another way; the others run on time."""

from __future__ import annotations

from dataclasses import dataclass

from django_dyncron.core.definitions import CronJobDefinition, Run
from django_dyncron.core.exceptions import EnqueueRefused
from tests.chaos.jobs import job, jobs_on_every_queue
from tests.chaos.queues import ForgetfulQueue
from tests.chaos.scoreboard import Score, seeds, sizes
from tests.chaos.simulator import START, Simulation
from tests.chaos.verdict import every, judge


class PoisonableQueue(ForgetfulQueue):
    """Raises what the run's payload asks for."""

    async def enqueue_run(self, run: Run) -> str:
        match run.payload.get("poison"):
            case "refused":
                raise EnqueueRefused("no such task")
            case "odd":
                raise ZeroDivisionError
        return await super().enqueue_run(run)


POISON = (
    job("expression", "61 * * * *"),
    job("no-expression", None),  # type: ignore[arg-type]
    job("zone", time_zone="Atlantis/Capital"),
    job("policy", misfire_policy="perhaps"),
    job("never", "0 0 30 2 *"),
    job("window", catch_up_window_seconds="soon"),
    job("enqueuer", enqueuer="carrier-pigeon"),
    job("refused", payload={"poison": "refused"}),
    job("odd", payload={"poison": "odd"}),
    job("jitter", jitter_seconds="a lot"),
)


@dataclass(frozen=True)
class Size:
    jobs: int
    minutes: int
    seeds: int


def poisoned(size: Size) -> list[CronJobDefinition]:
    """One poisonous job in a hundred, of a different kind each, among the sound ones."""
    return [*POISON[: size.jobs // 100], *jobs_on_every_queue(size.jobs)]


@sizes(short=Size(300, 10, seeds=1), full=Size(1_000, 30, seeds=1))
def test_the_sound_jobs_run_on_time(score: Score, size: Size) -> None:
    for seed in seeds(size.seeds):
        simulation = Simulation(
            seed,
            poisoned(size),
            size.minutes,
            queue_class=PoisonableQueue,
            options={"batch_size": 500},
        ).run()
        sound = [f"job-{number}" for number in range(size.jobs)]
        verdict = judge(simulation, {job_id: every(1, START, size.minutes) for job_id in sound})
        score.add(verdict, seed)
        assert verdict.delivered == verdict.slots
        assert max(one.late for one in simulation.mailbox.deliveries) < 10
        errors = {row.job.job_id: row.last_error for row in simulation.store.rows.values()}
        assert {job_id for job_id, error in errors.items() if error} == {
            one.job_id for one in POISON[: size.jobs // 100]
        }
