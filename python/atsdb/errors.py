"""The exceptions of atsdb: those of PEP 249, below them one class for each kind of error, and the category of notices.

Every exception has a ``kind`` (``"not_found"``), PostgreSQL's ``sqlstate`` (``"42P01"``) and a ``hint``, which says what to do
next or is ``None``.
"""

from __future__ import annotations

from ._atsdb import ERROR_KINDS


class Warning(Exception):
    """A warning. It is never raised, but PEP 249 requires the name."""


class NoticeWarning(UserWarning):
    """A notice about a statement that has been executed, such as which column a CREATE TABLE has made the time."""


class Error(Exception):
    """The base class of all exceptions of atsdb."""

    kind: str | None = None
    sqlstate: str | None = None

    def __init__(self, message: str, hint: str | None = None, sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        # The class has the SQLSTATE of its kind; that of an error of the database is more precise.
        if sqlstate is not None:
            self.sqlstate = sqlstate

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[type[Error], tuple[str, str | None, str | None]]:
        return type(self), (self.message, self.hint, self.sqlstate)


class InterfaceError(Error):
    """The interface, not the database, was used wrongly."""


class DatabaseError(Error):
    """An error of the database."""


class DataError(DatabaseError):
    """A value does not fit, or a limit is reached."""


class OperationalError(DatabaseError):
    """Something outside of the statement failed: a resource, another writer, the medium."""


class IntegrityError(DatabaseError):
    """A row breaks a constraint: a key, a NOT NULL, a CHECK, a foreign key."""


class InternalError(DatabaseError):
    """Stored bytes are damaged, or an invariant is broken."""

    kind = "internal"


class ProgrammingError(DatabaseError):
    """The statement or call is wrong."""


class NotSupportedError(DatabaseError):
    """This version cannot do it."""


def _class(kind: str, base: type[Error], sqlstate: str) -> type[Error]:
    name = "".join(word.capitalize() for word in kind.split("_")) + "Error"
    if name == base.__name__:
        base.sqlstate = sqlstate
        return base
    attributes = {"kind": kind, "sqlstate": sqlstate, "__module__": __name__, "__doc__": f"An error of kind {kind}."}
    return type(name, (base,), attributes)


#: The class of each kind of error.
BY_KIND: dict[str, type[Error]] = {kind: _class(kind, globals()[base], state) for kind, base, state in ERROR_KINDS}

globals().update({each.__name__: each for each in BY_KIND.values()})

__all__ = sorted(
    {each.__name__ for each in BY_KIND.values()}
    | {"Error", "InterfaceError", "DatabaseError", "DataError", "OperationalError", "IntegrityError", "InternalError"}
    | {"NoticeWarning", "ProgrammingError", "NotSupportedError"}
)
