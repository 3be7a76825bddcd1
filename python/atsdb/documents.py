"""JSON documents as text."""

from __future__ import annotations

import enum
import json
from typing import Any


def json_text(document: Any) -> str:
    """The text of a document. A member of an ``enum.Enum`` stands for its value."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, default=_member_value)


def _member_value(item: Any) -> Any:
    """The value of an object that JSON does not have."""
    if isinstance(item, enum.Enum):
        return item.value
    raise TypeError(f"Object of type {type(item).__name__} is not JSON serializable")
