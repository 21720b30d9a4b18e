//! The report for people: one page that needs nothing else.

use std::fmt::Write;

use windlass_experiment::setup::client_address;

use super::chart::escape;
use super::dots::{DotRow, dots};
use super::figures::{common_charts, window_charts};
use super::series::class;
use super::table::{HEADS, conditions, rows};

use crate::command::describe;
use crate::demo::{Case, Summary, sysctls};
use crate::topology::{INSIDE, OUTSIDE};

const STYLE: &str = include_str!("style.css");
/// The page.
pub fn text(summary: &Summary) -> String {
    let title = "One download, different congestion control";
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <title>Windlass: {title}</title><style>{STYLE}</style></head>\n<body><main>\n\
         <h1>{title}</h1>\n{}{}{}{}{}{}{}{}\
         <footer>Measured by <code>windlass demo</code>.</footer>\n</main></body></html>\n",
        lead(summary),
        results(summary),
        common_charts(summary),
        window_charts(summary),
        conditions_section(summary),
        every_run(summary),
        machine(summary),
        commands(summary),
    )
}

fn lead(summary: &Summary) -> String {
    let mut out = String::new();
    let windlass = summary.seconds(Case::WindlassBbr).map(|s| s.median);
    if let Some(governed) = windlass {
        let mut parts = Vec::new();
        if let Some(alone) = summary.seconds(Case::Cubic) {
            let times = alone.median / governed;
            parts.push(format!("{times:.1} times as fast as the same server alone"));
        }
        if let Some(ratio) = summary.ratio_to_native_bbr(Case::WindlassBbr) {
            parts.push(format!(
                "{ratio:.2} times the time of a server with BBR of its own"
            ));
        }
        let rest = match parts.is_empty() {
            true => String::new(),
            false => format!(": {}", parts.join(", ")),
        };
        let _ = writeln!(
            out,
            "<p class=\"headline\">Behind Windlass, the CUBIC server needs <b>{governed:.2} s</b>{rest}.</p>"
        );
    }
    if !summary.all_ok() {
        out += "<p class=\"headline\"><b>Not every run went as it should: see below.</b></p>\n";
    }
    let _ = writeln!(
        out,
        "<p class=\"soft\">{}.</p>",
        escape(&conditions(summary))
    );
    out
}

fn results(summary: &Summary) -> String {
    let heads: String = HEADS
        .iter()
        .map(|h| format!("<th>{}</th>", escape(h)))
        .collect();
    let mut body = String::new();
    let mut dot_rows = Vec::new();
    for row in rows(summary) {
        let class = class(row.case);
        let cells = [row.median, row.range, row.ratio, row.whole];
        let cells: String = cells
            .iter()
            .map(|c| format!("<td>{}</td>", escape(c)))
            .collect();
        let title = escape(&row.title);
        let _ = write!(
            body,
            "<tr class=\"{class}\"><td><i class=\"{class}\"></i>{title}</td>{cells}</tr>"
        );
        let runs = summary.measured.iter().map(|m| &m.run);
        dot_rows.push(DotRow {
            label: row.title,
            class,
            values: runs
                .filter(|r| r.case == row.case && r.is_good())
                .map(|r| r.seconds)
                .collect(),
            median: summary.seconds(row.case).map(|s| s.median),
        });
    }
    format!(
        "<section class=\"card\"><div class=\"scroll\"><table><thead><tr>{heads}</tr></thead>\
         <tbody>{body}</tbody></table></div></section>\n<section class=\"card\">{}</section>\n",
        dots(&dot_rows, "download time, s (dots: runs, bars: medians)")
    )
}

fn conditions_section(summary: &Summary) -> String {
    let o = &summary.options;
    let late = |share: f64| {
        let of = summary.measured.iter().map(|m| m.record.lateness(share));
        of.max().unwrap_or(0)
    };
    let path = format!(
        "{} Mbit/s each way, {} ms each way, {} % of the packets from server to client lost, queue \
         {} kB each way",
        o.rate_mbit,
        o.rtt_ms as f64 / 2.0,
        o.loss_percent,
        o.path().queue_bytes() as f64 / 1e3
    );
    let seeds = format!(
        "repetition n loses by seed {} + n − 1, the same packets by their number for every case",
        o.seed
    );
    let priority = match summary.measured.iter().all(|m| m.record.real_time) {
        true => "with real-time priority",
        false => "without real-time priority",
    };
    let emulator = format!(
        "{priority}; packets left at most {} µs late in half of the cases, {} µs in 99 %, {} µs ever (worst run)",
        late(0.5),
        late(0.99),
        late(1.0)
    );
    let servers = "the server's route to the client names its congestion control; what the socket \
                   used was read back during each download";
    let entries = [
        (
            "download",
            format!(
                "{} MB of random bytes by HTTP, SHA-256 compared",
                o.bytes as f64 / 1e6
            ),
        ),
        ("link", path),
        ("losses", seeds),
        ("link emulator", emulator),
        ("servers", servers.to_owned()),
        (
            "offloads",
            "TSO, GSO and GRO off on every interface, for every case".to_owned(),
        ),
        ("sysctls", sysctls().collect::<Vec<_>>().join("; ")),
    ];
    format!("<h2>What was measured</h2>{}", list(&entries))
}

fn every_run(summary: &Summary) -> String {
    let mut body = String::new();
    for m in &summary.measured {
        let r = &m.run;
        let outcome = match &r.error {
            None => format!("{:.3}", r.seconds),
            Some(error) => escape(error),
        };
        let _ = write!(
            body,
            "<tr><td><i class=\"{}\"></i>{}</td><td>{}</td><td>{outcome}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{:.0}</td><td>{}</td><td>{}</td></tr>",
            class(r.case),
            escape(&r.case.title(&summary.options.algorithm)),
            r.repetition + 1,
            r.link.offered,
            r.link.lost,
            r.link.dropped,
            r.link.max_queue_bytes as f64 / 1e3,
            r.server_retransmissions,
            r.windlass
                .map_or_else(String::new, |w| w.repaired_segments.to_string()),
        );
    }
    format!(
        "<h2>Every run</h2><p class=\"soft\">Packets from server to client that came to the link, were \
         lost there by chance, were dropped by its full queue; its longest queue; segments that the \
         server sent again, and the box in its place.</p><section class=\"card dense\"><div class=\"scroll\"><table><thead><tr><th></th>\
         <th>run</th><th>s</th><th>packets</th><th>lost</th><th>dropped</th>\
         <th>queue, kB</th><th>resent</th><th>by box</th></tr></thead>\
         <tbody>{body}</tbody></table></div></section>\n"
    )
}

fn machine(summary: &Summary) -> String {
    let f = &summary.facts;
    let entries = [
        ("kernel", f.kernel.clone()),
        ("processors", format!("{} × {}", f.processors, f.processor)),
        ("load before", f.load_average.clone()),
        ("server", f.nginx.clone()),
        ("client", f.curl.clone()),
        ("Windlass", f.windlass.clone()),
    ];
    format!("<h2>Machine</h2>{}", list(&entries))
}

fn commands(summary: &Summary) -> String {
    let o = &summary.options;
    let mut demo = std::process::Command::new("windlass");
    demo.arg("demo");
    for (flag, value) in [
        ("--runs", o.runs.to_string()),
        ("--bytes", o.bytes.to_string()),
        ("--rate-mbit", o.rate_mbit.to_string()),
        ("--rtt-ms", o.rtt_ms.to_string()),
        ("--loss-percent", o.loss_percent.to_string()),
        ("--queue-bdp", o.queue_bdp.to_string()),
        ("--algorithm", o.algorithm.clone()),
        ("--redundancy", o.redundancy.clone()),
        ("--seed", o.seed.to_string()),
    ] {
        demo.arg(flag).arg(value);
    }
    let governed = o.arguments().join(" ");
    let lines = format!(
        "# all of it\n{}\n\n# on the box, with in0 and out0 in one bridge\nwindlass run --inside {INSIDE} --outside {OUTSIDE} {governed}\n\n\
         # on the server\nip route replace {}/32 dev eth0 congctl lock cubic",
        describe(&demo),
        client_address(0)
    );
    format!("<h2>Again</h2><pre>{}</pre>\n", escape(&lines))
}

fn list(entries: &[(&str, String)]) -> String {
    let mut out = String::from("<section class=\"card\"><dl>");
    for (name, value) in entries.iter().filter(|e| !e.1.is_empty()) {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    out + "</dl></section>\n"
}
