"""asyncpg: everything in binary, prepared statements, cursors, COPY, a pool."""

import asyncio
import datetime
import sys

import asyncpg


async def main(url):
    connection = await asyncpg.connect(url)
    since = datetime.datetime(2024, 1, 1, 0, 1, tzinfo=datetime.timezone.utc)
    rows = await connection.fetch("SELECT time, sensor, value, count FROM readings WHERE time >= $1 ORDER BY time", since)
    assert [tuple(row) for row in rows] == [
        (since, "s2", 1.5, 2),
        (since + datetime.timedelta(minutes=1), "s1", None, 3),
    ], rows
    assert await connection.fetchval("SELECT count(*) FROM readings WHERE sensor = ANY($1::TEXT[])", ["s1", "s9"]) == 2
    assert await connection.execute("INSERT INTO sensors VALUES ($1, $2, $3)", 10, "7", None) == "INSERT 0 1"
    statement = await connection.prepare("SELECT name FROM sensors WHERE id = $1")
    for _ in range(20):
        assert await statement.fetchval(10) == "7"
    records = [(1000 + number, f"copied {number}", 0.5) for number in range(500)]
    assert await connection.copy_records_to_table("sensors", records=records) == "COPY 500"
    async with connection.transaction():
        seen = [row["id"] async for row in connection.cursor("SELECT id FROM sensors ORDER BY id", prefetch=50)]
        assert len(seen) == 503, len(seen)
    try:
        async with connection.transaction():
            await connection.execute("DELETE FROM sensors")
            await connection.execute("SELECT nothing FROM sensors")
        raise AssertionError("a column that is not there was read")
    except asyncpg.UndefinedColumnError:
        pass
    assert await connection.fetchval("SELECT count(*) FROM sensors") == 503
    await connection.close()
    async with asyncpg.create_pool(url, min_size=2, max_size=4) as pool:
        counts = await asyncio.gather(*(pool.fetchval("SELECT count(*) FROM sensors") for _ in range(20)))
        assert counts == [503] * 20, counts


asyncio.run(main(sys.argv[1]))
print("done")
