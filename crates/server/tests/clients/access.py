"""psycopg and asyncpg with passwords: roles, read-only transactions, TLS, channel binding, wrong passwords."""

import asyncio
import ssl
import sys

import asyncpg
import psycopg

port, certificate = int(sys.argv[1]), sys.argv[2]
place = {"host": "127.0.0.1", "port": port, "dbname": "air"}


def connect(user, password, **more):
    return psycopg.connect(**place, user=user, password=password, **more)


def fails(kind, text, work):
    try:
        work()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


with connect("boss", "b-pass", sslmode="require", channel_binding="require") as connection:
    assert connection.execute("SHOW ssl").fetchone() == ("on",)
fails(psycopg.OperationalError, "password authentication failed", lambda: connect("boss", "wrong"))
fails(psycopg.OperationalError, "password authentication failed", lambda: connect("nobody", "b-pass"))
with connect("reader", "r-pass") as connection:
    assert connection.execute("SELECT count(*) FROM sensors").fetchone() == (2,)
    insert = "INSERT INTO sensors VALUES (9, 'x', 1)"
    fails(psycopg.errors.InsufficientPrivilege, "permission denied", lambda: connection.execute(insert))
connection = connect("boss", "b-pass")
connection.read_only = True
fails(psycopg.errors.ReadOnlySqlTransaction, "read-only", lambda: connection.execute(insert))
connection.rollback()
connection.read_only = False
connection.execute(insert)
connection.commit()
connection.close()


async def main():
    context = ssl.create_default_context(cafile=certificate)
    place = {"host": "127.0.0.1", "port": port, "database": "air"}
    connection = await asyncpg.connect(user="boss", password="b-pass", ssl=context, **place)
    assert await connection.fetchval("SHOW ssl") == "on"
    try:
        async with connection.transaction(readonly=True):
            await connection.execute("DELETE FROM sensors")
        raise AssertionError("a transaction that may only read has changed rows")
    except asyncpg.exceptions.ReadOnlySQLTransactionError:
        pass
    assert await connection.fetchval("SELECT count(*) FROM sensors") == 3
    await connection.close()
    try:
        await asyncpg.connect(user="boss", password="wrong", ssl=False, **place)
        raise AssertionError("a wrong password was right")
    except asyncpg.exceptions.InvalidPasswordError:
        pass
    connection = await asyncpg.connect(user="reader", password="r-pass", ssl=False, **place)
    try:
        await connection.execute("DELETE FROM sensors")
        raise AssertionError("a reader has changed rows")
    except asyncpg.exceptions.InsufficientPrivilegeError:
        pass
    await connection.close()


asyncio.run(main())
print("done")
