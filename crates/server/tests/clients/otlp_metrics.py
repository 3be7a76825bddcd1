"""Metrics of OpenTelemetry's SDK, exported once."""

from contextlib import contextmanager

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource


@contextmanager
def exported_once(exporter):
    """A meter. What it measured is exported at the end."""
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000, export_timeout_millis=300_000)
    provider = MeterProvider(
        metric_readers=[reader],
        resource=Resource({"service.name": "house"}),
        views=[View(instrument_name="latency", aggregation=ExplicitBucketHistogramAggregation([0.1, 1.0]))],
    )
    yield provider.get_meter("test")
    assert provider.force_flush(timeout_millis=300_000)
    provider.shutdown()
