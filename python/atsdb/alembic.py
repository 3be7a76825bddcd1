"""What Alembic needs to know of SQLAlchemy's dialect ``atsdb://``.

Alembic 1.18 and later loads this module itself. Before that, write ``import atsdb.alembic`` in ``env.py``.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any


def setup(plugin: object) -> None:
    """What Alembic calls when it loads this module as a plug-in. It does nothing: the class below is known once it exists."""


# Behind `setup`, because it loads the plug-ins if Alembic is not imported yet.
from alembic.ddl.impl import DefaultImpl  # noqa: E402

#: A text that the catalogue shows as a default, perhaps with its type.
_TEXT = re.compile(r"'((?:[^']|'')*)'(?:::[\w ]+)?", re.DOTALL)
#: A number: the catalogue shows it with the digits of its column.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class AtsdbImpl(DefaultImpl):
    """Migrations run in transactions, as on PostgreSQL."""

    __dialect__ = "atsdb"
    transactional_ddl = True

    def compare_server_default(
        self,
        inspector_column: Any,
        metadata_column: Any,
        rendered_metadata_default: str | None,
        rendered_inspector_default: str | None,
    ) -> bool:
        """Whether two defaults differ, other than in how a text or a number is written."""
        return _default(rendered_inspector_default) != _default(rendered_metadata_default)

    def _compare_identity_default(self, metadata_identity: Any, inspector_identity: Any) -> Any:
        """No difference if a key numbers the rows without an ``Identity``: its column is declared as one."""
        if metadata_identity is None:
            return (), {}, False
        return super()._compare_identity_default(  # type: ignore[no-untyped-call]
            metadata_identity, inspector_identity
        )


def _default(text: str | None) -> str | Decimal | None:
    if text is None:
        return None
    found = _TEXT.fullmatch(text)
    written = text if found is None else found[1].replace("''", "'")
    return Decimal(written) if _NUMBER.fullmatch(written) else written
