"""The kernel's messages to a page, read from the frames of its socket."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_WORD = 8


@dataclass(frozen=True)
class Sent:
    """One message: its type, when the kernel sent it, and how long its frame is."""

    kind: str
    at: datetime
    size: int


def read_frame(frame: bytes) -> Sent:
    """A frame of `v1.kernel.websocket.jupyter.org`: offsets, then the parts."""
    (count,) = struct.unpack_from("<Q", frame, 0)
    offsets = struct.unpack_from(f"<{count}Q", frame, _WORD)
    header = json.loads(frame[offsets[1] : offsets[2]])
    return Sent(header["msg_type"], datetime.fromisoformat(header["date"]), len(frame))


def busiest_second(sent: Iterable[Sent]) -> int:
    """The most messages that left the kernel in any one second of its clock."""
    times = sorted(one.at.timestamp() for one in sent)
    most = start = 0
    for end, at in enumerate(times):
        while at - times[start] >= 1:
            start += 1
        most = max(most, end - start + 1)
    return most


def kinds(sent: Iterable[Sent]) -> Counter[str]:
    """How many there are of each type."""
    return Counter(one.kind for one in sent)
