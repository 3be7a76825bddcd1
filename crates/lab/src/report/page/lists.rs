//! Lines below a heading or a plot.

use maud::{Markup, html};

/// The lines as a list; empty if there are none.
pub(super) fn list(class: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            ul class=(class) {
                @for line in lines { "\n" li { (line) } }
            }
        }
    }
}
