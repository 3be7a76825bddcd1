"""Clients of InfluxDB 2 and 1 for Python: points, lines and data frames, in batches and at once, health, errors."""

import datetime
import sys

from influxdb import InfluxDBClient as InfluxDBClient1
from influxdb.exceptions import InfluxDBClientError
from influxdb_client import InfluxDBClient, Point, WriteOptions, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS
from influxdb_client.rest import ApiException

address = sys.argv[1]
host, port = address.split(":")
at = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
with InfluxDBClient(url=f"http://{address}", token="any", org="house", enable_gzip=True) as client:
    assert client.ping()
    health = client.health()
    assert (health.name, health.status) == ("atsdb", "pass"), health
    assert client.ready().status == "ready"
    assert client.version().startswith("atsdb"), client.version()
    with client.write_api(write_options=SYNCHRONOUS) as write:
        point = Point("room").tag("floor", "first, left").field("heat", 21.5).field("open", True).field("n", 3)
        write.write("air", record=point.field("note", 'a "b" \\ c').time(at))
        write.write("air", record={"measurement": "room", "tags": {"floor": "2"}, "fields": {"heat": 20.0}, "time": at})
        write.write("air", record="room,floor=3 heat=19.5 1704067200000", write_precision=WritePrecision.MS)
        try:
            write.write("air", record='room,floor=3 heat="warm"')
            raise AssertionError("a text in a column of numbers was taken")
        except ApiException as error:
            assert error.status == 400 and "field type conflict" in error.message, error
    failures = []
    options = WriteOptions(batch_size=100, flush_interval=1_000)
    with client.write_api(write_options=options, error_callback=lambda *failure: failures.append(failure)) as write:
        for number in range(1_000):
            later = at + datetime.timedelta(seconds=number)
            write.write("air", record=Point("batched").tag("host", f"h{number % 10}").field("v", number).time(later))
    assert failures == [], failures

client = InfluxDBClient1(host, int(port), "me", "secret", database="air")
assert client.ping().startswith("atsdb")
assert {"name": "air"} in client.get_list_database() or len(client.get_list_database()) == 1
client.create_database("air")
points = [
    {"measurement": "old", "tags": {"host": "a b"}, "time": "2024-01-01T00:00:00Z", "fields": {"v": 1, "w": 0.5, "x": "ü"}},
    {"measurement": "old", "tags": {"host": "c"}, "time": "2024-01-01T00:00:01Z", "fields": {"v": 2}},
]
assert client.write_points(points, time_precision="ms", batch_size=1)
try:
    client.write_points([{"measurement": "old", "fields": {"v": "text"}}])
    raise AssertionError("a text in a column of numbers was taken")
except InfluxDBClientError as error:
    assert error.code == 400 and "field type conflict" in error.content, error
print("done")
