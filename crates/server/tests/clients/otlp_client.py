"""OpenTelemetry's SDK: a counter, a gauge and a histogram, exported once over HTTP."""

import sys

try:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
except ImportError:
    print("no opentelemetry")
    sys.exit(0)
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource

exporter = OTLPMetricExporter(endpoint=sys.argv[1], compression=Compression.Gzip, timeout=300)
reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000, export_timeout_millis=300_000)
provider = MeterProvider(
    metric_readers=[reader],
    resource=Resource({"service.name": "house"}),
    views=[View(instrument_name="latency", aggregation=ExplicitBucketHistogramAggregation([0.1, 1.0]))],
)
meter = provider.get_meter("test")
opened = meter.create_counter("door.opened", unit="{times}", description="How often.")
opened.add(1, {"room": "hall"})
opened.add(2, {"room": "hall"})
latency = meter.create_histogram("latency", unit="s")
latency.record(0.0625)
latency.record(0.6875)
meter.create_observable_gauge(
    "room.temperature", callbacks=[lambda _: [Observation(21.5, {"room": "hall"})]], unit="Cel"
)
assert provider.force_flush(timeout_millis=300_000)
provider.shutdown()
print("done")
