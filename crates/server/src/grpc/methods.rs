//! The methods that clients may call, and the roles that they need.

use crate::access::role::Role;

/// The service of Arrow Flight.
const FLIGHT: &str = "/arrow.flight.protocol.FlightService/";
/// The method by which OpenTelemetry's exporters send metrics.
const EXPORT: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

/// The methods of Flight. The rights of a statement are checked by the user's role when it is executed.
const FLIGHT_METHODS: [&str; 10] = [
    "Handshake",
    "ListFlights",
    "GetFlightInfo",
    "PollFlightInfo",
    "GetSchema",
    "DoGet",
    "DoPut",
    "DoExchange",
    "DoAction",
    "ListActions",
];

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Flight,
    ExportMetrics,
}

impl Method {
    /// The method with this path. A path that is not listed here is refused to everybody.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        match path.strip_prefix(FLIGHT) {
            Some(name) if FLIGHT_METHODS.contains(&name) => Some(Self::Flight),
            None if path == EXPORT => Some(Self::ExportMetrics),
            _ => None,
        }
    }

    /// The role that a user must have, at least.
    pub(super) fn role(self) -> Role {
        match self {
            Self::Flight => Role::Read,
            Self::ExportMetrics => Role::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_methods_have_a_role() {
        assert_eq!(Method::of_path("/arrow.flight.protocol.FlightService/DoGet"), Some(Method::Flight));
        assert_eq!(Method::of_path(EXPORT).map(Method::role), Some(Role::Write));
        for path in ["", "/", FLIGHT, "/arrow.flight.protocol.FlightService/doget", "/metrics", &EXPORT[1..]] {
            assert_eq!(Method::of_path(path), None, "{path}");
        }
    }
}
