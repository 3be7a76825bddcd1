"""Flight SQL by ADBC's driver and by pyarrow, with users, and with TLS if a certificate is named."""

import sys

try:
    import adbc_driver_flightsql.dbapi as flight_sql
    from adbc_driver_flightsql import DatabaseOptions
    import pyarrow
    import pyarrow.flight as flight
except ImportError:
    print("no adbc_driver_flightsql")
    sys.exit(0)

url, certificate = sys.argv[1], sys.argv[2:]
roots = open(certificate[0], "rb").read() if certificate else None
tls = {"adbc.flight.sql.client_option.tls_root_certs": roots.decode()} if roots else {}


def connect(user=None, password=None, header=None):
    options = dict(tls)
    if user is not None:
        options |= {"username": user, "password": password}
    if header is not None:
        options[DatabaseOptions.AUTHORIZATION_HEADER.value] = header
    return flight_sql.connect(url, db_kwargs=options, autocommit=True)


def refused(work):
    try:
        work()
    except flight_sql.Error as error:
        return str(error)
    raise AssertionError("expected an error")


def run(connection, text):
    with connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchall()


with connect("boss", "b-pass") as boss:
    run(boss, "CREATE TABLE t (id INT)")
    run(boss, "INSERT INTO t VALUES (1)")
with connect("reader", "r-pass") as reader:
    assert run(reader, "SELECT id FROM t") == [(1,)]
    for text in ["INSERT INTO t VALUES (2)", "DELETE FROM t RETURNING id"]:
        message = refused(lambda: run(reader, text))
        assert "permission denied: the role read may not change anything" in message, message
    with reader.cursor() as cursor:
        rows = pyarrow.table({"id": pyarrow.array([2], pyarrow.int32())})
        assert "permission denied" in refused(lambda: cursor.adbc_ingest("t", rows, mode="append"))
with connect("writer", "w-pass") as writer, writer.cursor() as cursor:
    assert cursor.adbc_ingest("t", rows, mode="append") == 1
    message = refused(lambda: cursor.adbc_ingest("t", rows, mode="replace"))
    assert "permission denied: the role write may not create, alter or drop" in message, message
    assert run(writer, "SELECT count(*) FROM t") == [(2,)]
for wrong in [{"user": "boss", "password": "x"}, {"user": "nobody", "password": "x"}, {}, {"header": "Bearer x"}]:
    message = refused(lambda: run(connect(**wrong), "SELECT 1"))
    assert "UNAUTHENTICATED" in message or "Unauthenticated" in message, message

# A token that the handshake gives, and a password with each request.
arguments = {"tls_root_certs": roots} if roots else {}
client = flight.FlightClient(url, **arguments)
name, value = client.authenticate_basic_token("reader", "r-pass")
assert name == b"authorization" and value.startswith(b"Bearer atsdb_session_"), (name, value)
call = flight.FlightCallOptions(headers=[(name, value)])
assert {action.type for action in client.list_actions(call)} >= {"BeginTransaction", "CancelFlightInfo"}
for changed in [value[:-1] + (b"0" if value[-1:] != b"0" else b"1"), value.replace(b"726561646572", b"626f7373")]:
    try:
        list(client.list_actions(flight.FlightCallOptions(headers=[(name, changed)])))
    except flight.FlightUnauthenticatedError:
        continue
    raise AssertionError("a token that was changed was accepted")
print("done")
