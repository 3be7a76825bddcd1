"""OpenTelemetry's SDK: a counter and a histogram, exported once over gRPC, and a failure with its code."""

import sys

try:
    import grpc
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
except ImportError:
    print("no opentelemetry")
    sys.exit(0)
from otlp_metrics import exported_once

address = sys.argv[1]


def export(compression, room):
    exporter = OTLPMetricExporter(endpoint=f"http://{address}", insecure=True, compression=compression, timeout=300)
    with exported_once(exporter) as meter:
        meter.create_counter("door.opened", unit="{times}").add(3, {"room": room})
        meter.create_histogram("latency", unit="s").record(0.0625, {"room": room})


export(grpc.Compression.NoCompression, "hall")
export(grpc.Compression.Gzip, "attic")


def code_of(request, headers=None):
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")
        try:
            call(request, metadata=headers, timeout=300)
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


assert code_of(b"") == grpc.StatusCode.OK
assert code_of(b"\x0a\x7f") == grpc.StatusCode.INVALID_ARGUMENT
assert code_of(bytes(65 << 20)) == grpc.StatusCode.RESOURCE_EXHAUSTED

# Points that are not stored are counted.
with grpc.insecure_channel(address) as channel:
    service = metrics_service_pb2_grpc.MetricsServiceStub(channel)
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="delta")
    metric.sum.aggregation_temporality = 1
    metric.sum.data_points.add(as_int=1, time_unix_nano=1)
    partial = service.Export(request, timeout=300).partial_success
    assert partial.rejected_data_points == 1 and "delta temporality" in partial.error_message, partial
print("done")
