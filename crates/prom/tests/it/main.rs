//! PromQL, tested by scripts in the language of Prometheus' own tests.

mod compare;
mod exemplars;
mod histograms;
mod hostile;
mod limits;
mod literals;
mod otlp;
mod remote;
mod run;
mod scripts;
mod series;
mod source;
mod upstream;
