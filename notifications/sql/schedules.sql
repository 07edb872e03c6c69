-- A row in django-q2's schedule table is code that runs: only our watchdog may stand there, with nothing attached.
ALTER TABLE notifyops_private.django_q_schedule ADD CONSTRAINT schedule_ours_only CHECK (
    func = 'notifications.tasks.watch'
    AND hook IS NULL AND args IS NULL AND kwargs IS NULL AND intended_date_kwarg IS NULL
);
