"""The tables. Read them freely; state moves only through notifications.door."""

from notifications.models.api_token import ApiToken, ApiTokenUse
from notifications.models.circuit import Circuit, RateBucket
from notifications.models.content import Blob, Content, Fetch, Prepared
from notifications.models.delivery_block import DeliveryBlock
from notifications.models.doorkeeping import DoorRole, SiteSecret, WorkspaceGrant
from notifications.models.feed_endpoint import FeedCursor, FeedEndpoint
from notifications.models.intent import Intent, IntentKey
from notifications.models.log import LogEntry
from notifications.models.notification_type import NotificationTypeRow, TypeRevision
from notifications.models.pause import Pause
from notifications.models.provider import ConfigRevision, ProviderAccount
from notifications.models.question import Question
from notifications.models.receipt import ParkedReceipt, ProviderEvent
from notifications.models.recovery import Recovery, RecoveryList, UnknownMail
from notifications.models.run import Run, RunItem
from notifications.models.site import SiteAdoption
from notifications.models.worker_beat import WorkerBeat

__all__ = [
    "ApiToken",
    "ApiTokenUse",
    "Blob",
    "Circuit",
    "ConfigRevision",
    "Content",
    "DeliveryBlock",
    "DoorRole",
    "FeedCursor",
    "FeedEndpoint",
    "Fetch",
    "Intent",
    "IntentKey",
    "LogEntry",
    "NotificationTypeRow",
    "ParkedReceipt",
    "Pause",
    "Prepared",
    "ProviderAccount",
    "ProviderEvent",
    "Question",
    "RateBucket",
    "Recovery",
    "RecoveryList",
    "Run",
    "RunItem",
    "SiteAdoption",
    "SiteSecret",
    "TypeRevision",
    "UnknownMail",
    "WorkerBeat",
    "WorkspaceGrant",
]
