//! The files of the page: part of the program, so that it works without a network.

use axum::Router;
use axum::http::header;
use axum::routing::get;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const ICON: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal: $kind:expr, $file:literal;)+) => {
        /// Paths, their types, and what is there.
        pub(crate) const FILES: &[(&str, &str, &str)] =
            &[$(($path, $kind, include_str!(concat!("../page/", $file)))),+];
    };
}

files! {
    "/": HTML, "index.html";
    "/style.css": CSS, "style.css";
    "/icon.svg": ICON, "icon.svg";
    "/app.js": SCRIPT, "app.js";
    "/ask.js": SCRIPT, "ask.js";
    "/words.js": SCRIPT, "words.js";
    "/plot.js": SCRIPT, "plot.js";
    "/overview.js": SCRIPT, "overview.js";
    "/flows.js": SCRIPT, "flows.js";
    "/flow.js": SCRIPT, "flow.js";
    "/algorithms.js": SCRIPT, "algorithms.js";
    "/rules.js": SCRIPT, "rules.js";
    "/guard.js": SCRIPT, "guard.js";
    "/trials.js": SCRIPT, "trials.js";
    "/events.js": SCRIPT, "events.js";
    "/health.js": SCRIPT, "health.js";
    "/vendor/uPlot.js": SCRIPT, "vendor/uPlot.iife.min.js";
    "/vendor/uPlot.css": CSS, "vendor/uPlot.min.css";
    "/vendor/uPlot.LICENSE.txt": TEXT, "vendor/uPlot.LICENSE.txt";
}

pub(crate) fn routes() -> Router {
    FILES
        .iter()
        .fold(Router::new(), |router, (path, kind, text)| {
            let answer = move || async move { ([(header::CONTENT_TYPE, *kind)], *text) };
            router.route(path, get(answer))
        })
}
