"""OpenTelemetry's SDK: a counter, a gauge and a histogram, exported once over HTTP."""

import sys

try:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
except ImportError:
    print("no opentelemetry")
    sys.exit(0)
from opentelemetry.metrics import Observation
from otlp_metrics import exported_once

exporter = OTLPMetricExporter(endpoint=sys.argv[1], compression=Compression.Gzip, timeout=300)
with exported_once(exporter) as meter:
    opened = meter.create_counter("door.opened", unit="{times}", description="How often.")
    opened.add(1, {"room": "hall"})
    opened.add(2, {"room": "hall"})
    latency = meter.create_histogram("latency", unit="s")
    latency.record(0.0625)
    latency.record(0.6875)
    meter.create_observable_gauge(
        "room.temperature", callbacks=[lambda _: [Observation(21.5, {"room": "hall"})]], unit="Cel"
    )
print("done")
