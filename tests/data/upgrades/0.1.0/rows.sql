-- A replica that was stopped at 2026-11-30 12:00:40 UTC, for an upgrade. Read by SQLite and PostgreSQL alike:
-- moments are UTC without saying so, identities are 32 digits.

-- Planned, and nothing missed.
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, payload, queue, description, plan_from, created_at,
    next_run_at, last_run_at, planned_cron_expression, planned_time_zone, planned_dst_gap, planned_dst_fold,
    planned_in_zone, planned_with_tzdata)
VALUES ('report', 'shop.tasks.report', '*/5 * * * *', '{"full": true, "to": "Jörg"}', 'mail', 'Every 5 minutes.', NULL,
    '2026-11-01 09:00:00', '2026-11-30 12:05:00', '2026-11-30 12:00:00', '*/5 * * * *', '', 'run_after', 'first', 'UTC', '2026b');
-- Planned for tomorrow, in a zone and with policies of its own, declared in code.
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, time_zone, dst_gap, dst_fold, starts_at, misfire_policy,
    max_catch_up, catch_up_window_seconds, overlap_policy, max_run_seconds, jitter_seconds, delivery, enqueuer, options,
    ping_url, origin, declaration, has_vanished, plan_from, created_at, next_run_at, planned_cron_expression,
    planned_time_zone, planned_dst_gap, planned_dst_fold, planned_starts_at, planned_in_zone, planned_with_tzdata)
VALUES ('tomorrow', 'shop.tasks.bill', '0 7 * * *', 'Europe/Berlin', 'skip', 'both', '2026-11-30 00:00:00', 'fire_all', 7, 3600, 'skip',
    600, 0, 'at_most_once', 'default', '{"priority": 3}', 'https://ping.example/1', 'code', '{"job_id": "tomorrow"}', true, NULL,
    '2026-11-01 09:00:00', '2026-12-01 06:00:00', '0 7 * * *', 'Europe/Berlin', 'skip', 'both', '2026-11-30 00:00:00',
    'Europe/Berlin', '2026b');
-- Due while nobody was there.
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, plan_from, created_at, next_run_at,
    planned_cron_expression, planned_time_zone, planned_dst_gap, planned_dst_fold, planned_in_zone, planned_with_tzdata)
VALUES ('overdue', 'shop.tasks.clean', '1 12 * * *', NULL, '2026-11-01 09:00:00', '2026-11-30 12:01:00', '1 12 * * *', '',
    'run_after', 'first', 'UTC', '2026b');
-- Its cursor stands before a slot that has been run: somebody moved it back.
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, plan_from, created_at, next_run_at, last_run_at,
    planned_cron_expression, planned_time_zone, planned_dst_gap, planned_dst_fold, planned_in_zone, planned_with_tzdata)
VALUES ('again', 'shop.tasks.charge', '0 12 * * *', NULL, '2026-11-01 09:00:00', '2026-11-30 12:00:00', '2026-11-30 12:00:00',
    '0 12 * * *', '', 'run_after', 'first', 'UTC', '2026b');
-- Claimed by the replica that stopped, not delivered.
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, plan_from, created_at, next_run_at,
    planned_cron_expression, planned_time_zone, planned_dst_gap, planned_dst_fold, planned_in_zone, planned_with_tzdata)
VALUES ('held', 'shop.tasks.mail', '59 11 * * *', NULL, '2026-11-01 09:00:00', '2026-12-01 11:59:00', '59 11 * * *', '',
    'run_after', 'first', 'UTC', '2026b');
-- New, by plain SQL: not planned yet.
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, plan_from, created_at)
VALUES ('new', 'shop.tasks.report', '0 13 * * *', '2026-11-30 12:00:35', '2026-11-30 12:00:35');
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, is_active, pause_reason, plan_from, created_at)
VALUES ('paused', 'shop.tasks.report', '* * * * *', false, 'The shop moves.', NULL, '2026-11-01 09:00:00');
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, ends_at, is_settled, plan_from, created_at,
    planned_cron_expression, planned_time_zone, planned_dst_gap, planned_dst_fold, planned_ends_at, planned_in_zone,
    planned_with_tzdata)
VALUES ('ended', 'shop.tasks.report', '* * * * *', '2026-11-02 00:00:00', true, NULL, '2026-11-01 09:00:00', '* * * * *', '',
    'run_after', 'first', '2026-11-02 00:00:00', 'UTC', '2026b');
INSERT INTO django_dyncron_cronjob (job_id, task_name, cron_expression, last_error, is_settled, plan_from, created_at,
    planned_cron_expression, planned_time_zone, planned_dst_gap, planned_dst_fold)
VALUES ('broken', 'shop.tasks.report', '61 * * * *', 'There is no minute 61.', true, NULL, '2026-11-01 09:00:00', '61 * * * *', '',
    'run_after', 'first');

INSERT INTO django_dyncron_cronrun (id, job_id, scheduled_for, status, task_name, payload, queue, created_at, enqueued_at,
    started_at, finished_at, replica, attempts, task_id)
VALUES ('c36773e8a36858a780efebc495dd361c', 'report', '2026-11-30 12:00:00', 'succeeded', 'shop.tasks.report', '{"full": true, "to": "Jörg"}', 'mail',
    '2026-11-30 12:00:00.012', '2026-11-30 12:00:00.020', '2026-11-30 12:00:01', '2026-11-30 12:00:02', 'old', 1, 'abc');
INSERT INTO django_dyncron_cronrun (id, job_id, scheduled_for, status, task_name, created_at, enqueued_at, replica, attempts)
VALUES ('c67f042095a1594d8ca9998ebc08554c', 'again', '2026-11-30 12:00:00', 'enqueued', 'shop.tasks.charge', '2026-11-30 12:00:00.012',
    '2026-11-30 12:00:00.020', 'old', 1);
INSERT INTO django_dyncron_cronrun (id, job_id, scheduled_for, status, task_name, created_at, replica, attempts, lease_until)
VALUES ('0e0f3726f96a5e63b916d134e7ca76e4', 'held', '2026-11-30 11:59:00', 'claimed', 'shop.tasks.mail', '2026-11-30 11:59:00.012', 'old', 1,
    '2026-11-30 12:00:00');
INSERT INTO django_dyncron_cronrun (id, job_id, scheduled_for, status, task_name, created_at, finished_at, attempts, error)
VALUES ('cddec6e15cc058b5be0c2f2047cd5952', 'gone', '2026-11-29 06:00:00', 'failed', 'shop.tasks.gone', '2026-11-29 06:00:00', '2026-11-29 06:00:03', 1,
    'ValueError: nothing to do');
INSERT INTO django_dyncron_cronrun (id, job_id, scheduled_for, skipped_until, slot_count, status, reason, task_name, created_at)
VALUES ('00000000000000000000000000000001', 'report', '2026-11-20 00:00:00', '2026-11-20 23:55:00', 288, 'skipped', 'paused',
    'shop.tasks.report', '2026-11-21 00:00:00');
INSERT INTO django_dyncron_cronrun (id, job_id, kind, asked_by, status, task_name, created_at, finished_at, attempts)
VALUES ('00000000000000000000000000000002', 'report', 'manual', 'ann', 'succeeded', 'shop.tasks.report', '2026-11-21 08:00:00',
    '2026-11-21 08:00:05', 1);

INSERT INTO django_dyncron_pause (since, until, reason, paused_by, resumed_by)
VALUES ('2026-11-20 00:00:00', '2026-11-21 00:00:00', 'Inventory.', 'ann', 'bob');
INSERT INTO django_dyncron_replica (replica_id, started_at, seen_at, stopped_at, tick_interval_seconds, version, tzdata_version)
VALUES ('old', '2026-11-30 06:00:00', '2026-11-30 12:00:40', '2026-11-30 12:00:40', 30, '0.1.0', '2026b');
INSERT INTO django_dyncron_cronlock (lock_key, expires_at, owner)
VALUES ('dyncron:cron_lock:report:2026-11-30T12:00:00+00:00', '2026-11-30 12:01:00', 'old');
