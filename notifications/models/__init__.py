"""The tables. Read them freely; state moves only through notifications.door."""

from notifications.models.circuit import Circuit
from notifications.models.content import Content, Prepared
from notifications.models.delivery_block import DeliveryBlock
from notifications.models.doorkeeping import DoorRole, SiteSecret, WorkspaceGrant
from notifications.models.intent import Intent, IntentKey
from notifications.models.log import LogEntry
from notifications.models.notification_type import NotificationTypeRow
from notifications.models.provider import ConfigRevision, ProviderAccount
from notifications.models.question import Question
from notifications.models.receipt import ParkedReceipt, ProviderEvent
from notifications.models.site import SiteAdoption
from notifications.models.worker_beat import WorkerBeat

__all__ = [
    "Circuit",
    "ConfigRevision",
    "Content",
    "DeliveryBlock",
    "DoorRole",
    "Intent",
    "IntentKey",
    "LogEntry",
    "NotificationTypeRow",
    "ParkedReceipt",
    "Prepared",
    "ProviderAccount",
    "ProviderEvent",
    "Question",
    "SiteAdoption",
    "SiteSecret",
    "WorkerBeat",
    "WorkspaceGrant",
]
