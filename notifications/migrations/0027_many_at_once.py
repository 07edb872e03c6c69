"""Many cases are asked about at once; every refusal of the intake says how to mend it."""

from django.db import migrations

from notifications.sqlfile import renewed, run_sql

_OURS = "notifyops_private."
_ONE = ("refuse_v1", "check_options_v1", "check_data_v1", "enqueue_v1", "cancel_v1")
_MANY = ("enqueue_each_v1", "wishes_v1", "enqueue_many_v1")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0026_causes")]
    operations = [
        run_sql("barred_many_v1"),
        renewed("enqueue_v1", *(f"{_OURS}{name}" for name in _ONE)),
        renewed("enqueue_many_v1", *(f"{_OURS}{name}" for name in _MANY)),
        renewed("append_v1", f"{_OURS}append_v1"),
        renewed("api", f"{_OURS}cancel_by_token_v1"),
    ]
