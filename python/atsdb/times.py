"""Points in time that a ``datetime`` alone cannot hold."""

from __future__ import annotations

from datetime import datetime
from typing import Any, SupportsIndex


class Timestamp(datetime):
    """A ``datetime`` with nanoseconds, for values of ``TIMESTAMP(9)`` that have any. As a parameter or in a row that is
    appended it is exact; in comparisons and arithmetic it is the ``datetime``."""

    #: The nanoseconds beyond the microseconds, 0 to 999.
    nanosecond: int = 0

    @classmethod
    def of(cls, moment: datetime, nanosecond: int) -> Timestamp:
        """A ``datetime`` and the nanoseconds beyond its microseconds."""
        date, time = moment.timetuple()[:3], (moment.hour, moment.minute, moment.second, moment.microsecond)
        made = cls(*date, *time, tzinfo=moment.tzinfo, fold=moment.fold)
        made.nanosecond = nanosecond
        return made

    # Not `__reduce__`: copies and pickles of a `datetime` go through this one.
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        plain = datetime(*self.timetuple()[:6], self.microsecond, self.tzinfo, fold=self.fold)
        return Timestamp.of, (plain, self.nanosecond)

    def __repr__(self) -> str:
        return f"Timestamp({self.isoformat(timespec='microseconds')!r}, nanosecond={self.nanosecond})"
