//! gRPC: connections by HTTP/2, who may call which method, and messages within limits.
//!
//! ```text
//! connection    HTTP/2, drained when the server ends            connections
//!     |
//! request       the database that it names                      services
//!     |
//!     |         user, role of the method                        database_methods, methods
//!     |
//!     +-- Flight SQL: messages within limits -> room `flight`   messages
//!     +-- OpenTelemetry's metrics -> room `prom`                metrics_service
//! ```
//! Not owned: what the methods of Flight SQL do (`flight`), storing samples (`prom`).

pub(crate) mod connections;
pub(crate) mod database_methods;
mod messages;
mod methods;
mod metrics_service;
pub(crate) mod services;
