"""What was planned and ordered in bulk: the frozen list, and what became of each of its cases."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

# The verbs that many like cases can share; the others are decided one by one.
BULK_VERBS = ("retry", "close")
# left: nothing was done yet · excluded: by the plan · skipped: when its turn came · released: ordered, and not yet
# known what came of it · accepted: by the provider · failed: again · closed · moved: by somebody else since.
OUTCOMES = ("left", "excluded", "skipped", "released", "accepted", "failed", "closed", "moved")
UNSETTLED = ("left", "released")
RATES = (1, 2, 5, 10, 20, 50, 100, 200)
MOST_PER_S = 1000


class BulkRun(models.Model):
    """A plan, and once it was started the order to a worker. What it holds is frozen: see BulkItem.

    `planned_at` is the cut-off: what came later is not in it. `query` is the filter as it stands in a URL, unless the
    cases were chosen `by_hand`. `matched_count` may be capped; `was_cut`: more matched than a plan may hold.
    `start_token` is known to the plan's page alone. From `since` on outcomes count for canary and stop rule.
    """

    verb = models.CharField(_("action"), max_length=12)
    actor = models.CharField(_("by"), max_length=200)
    # Protected: who ordered must stay known, as for Review.
    user = models.ForeignKey("auth.User", models.PROTECT, null=True, blank=True, related_name="+")
    planned_at = models.DateTimeField(_("planned"))
    query = models.CharField(max_length=2000, db_default="", default="", blank=True)
    by_hand = models.BooleanField(db_default=False, default=False)
    matched_count = models.IntegerField()
    was_cut = models.BooleanField(db_default=False, default=False)
    total_count = models.IntegerField()
    eligible_count = models.IntegerField()
    plan_token = models.UUIDField()
    start_token = models.UUIDField()
    reason_code = models.CharField(_("reason code"), max_length=40, db_default="", default="", blank=True)
    reason = models.CharField(_("reason"), max_length=500, db_default="", default="", blank=True)
    rate = models.IntegerField(_("per second"), db_default=5, default=5)
    canary = models.IntegerField(_("canary"), db_default=5, default=5)
    max_bad = models.IntegerField(_("stop above, in percent"), db_default=20, default=20)
    run = models.OneToOneField("notifications.Run", models.PROTECT, null=True, blank=True, related_name="bulk")
    since = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("bulk run")
        verbose_name_plural = _("bulk runs")
        default_permissions = ("view",)
        permissions = [
            ("bulk_cases", "Can decide up to 200 cases together"),
            ("bulk_many", "Can decide up to 10,000 cases together"),
        ]
        constraints = [
            # The second submit of a double click finds the plan that the first one made.
            models.UniqueConstraint(fields=["plan_token"], name="bulkrun_planned_once"),
            models.CheckConstraint(name="bulkrun_verb_known", condition=Q(verb__in=BULK_VERBS)),
            models.CheckConstraint(name="bulkrun_rate", condition=Q(rate__gte=1, rate__lte=MOST_PER_S)),
            models.CheckConstraint(
                name="bulkrun_ordered_with_reason",
                condition=Q(run__isnull=True) | (~Q(reason_code="") & Q(since__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verb} in bulk {self.pk}"


class BulkItem(models.Model):
    """One case of the frozen list, as it stood at the plan: `seq` is its version then.

    `code` says why it was excluded, skipped or failed. Its order and version never change; a worker notes the rest.
    """

    bulk = models.ForeignKey(BulkRun, models.CASCADE, related_name="items", db_index=False)
    place = models.IntegerField()
    intent = models.ForeignKey(
        "notifications.Intent", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    seq = models.IntegerField()
    risk = models.CharField(max_length=8, db_default="", default="", blank=True)
    outcome = models.CharField(max_length=8, db_default="left", default="left")
    code = models.CharField(max_length=100, db_default="", default="", blank=True)
    seq_after = models.IntegerField(null=True)
    released_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("case of a bulk run")
        default_permissions = ("view",)
        indexes = [
            # What is to be done next, and what is still waited for; also each outcome's page.
            models.Index(fields=["bulk", "outcome", "place"], name="bulkitem_by_outcome"),
        ]
        constraints = [
            # The page's list in order; and no case twice, also the door's question whether somebody ordered this.
            models.UniqueConstraint(fields=["bulk", "place"], name="bulkitem_place_once"),
            models.UniqueConstraint(fields=["bulk", "intent"], name="bulkitem_case_once"),
            models.CheckConstraint(name="bulkitem_outcome_known", condition=Q(outcome__in=OUTCOMES)),
        ]

    def __str__(self) -> str:
        return f"{self.bulk_id}/{self.place} {self.outcome}"
