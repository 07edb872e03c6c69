"""How far the step is that runs now, told before it commits."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0019_api")]
    operations = [
        migrations.AddField(
            model_name="run", name="step_done_count", field=models.BigIntegerField(db_default=0, default=0)
        )
    ]
