//! `windlass flow`.

pub(crate) mod filter;

use std::fmt::{Display, Write};
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use filter::Filter;
use windlass_daemon::control::{Answer, Request};
use windlass_daemon::{AdviceReport, FlowReport};
use windlass_engine::FlowFigures;
use windlass_terminal::{bytes, millis, rate};

use crate::ask::{Control, unexpected};
use crate::values;
use windlass_terminal::{print, print_json, print_more};

/// What clears a terminal and goes to its first line (ECMA-48: ED, CUP).
const CLEAR: &str = "\x1b[2J\x1b[H";

/// In the place of an empty answer, for people.
const NOTHING_YET: &str = "no such flow. It shows connections that began after Windlass did; windlass counters says why others pass";

/// The governed flows.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Show each of them, as `ss -ti` shows a socket.
    Show(ShowArgs),
    /// Print what the fields of `flow show -j` are, as JSON Schema. This asks no running windlass.
    Schema,
}

/// What to show, and how.
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// As JSON, with units in the keys.
    #[arg(short, long)]
    json: bool,
    #[command(flatten)]
    filter: Filter,
    /// Again and again: on a cleared screen, or as one line of JSON each time [default: 1s].
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "1s", value_parser = values::interval)]
    watch: Option<Duration>,
    #[command(flatten)]
    control: Control,
}

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    let args = match command {
        Command::Show(args) => args,
        Command::Schema => return print(windlass_daemon::FLOW_SCHEMA),
    };
    let Some(interval) = args.watch else {
        let (flows, omitted) = ask(&args)?;
        return match args.json {
            true => {
                if omitted > 0 {
                    eprintln!("windlass: {omitted} more flows are left out");
                }
                print_json(&flows)
            }
            false => {
                if flows.is_empty() && io::stdout().is_terminal() {
                    eprintln!("windlass: {NOTHING_YET}");
                }
                print(&lines(&flows, omitted)?)
            }
        };
    };
    loop {
        let (flows, omitted) = ask(&args)?;
        let text = match args.json {
            true => format!("{}\n", serde_json::to_string(&flows)?),
            false => format!("{CLEAR}{}", lines(&flows, omitted)?),
        };
        if !print_more(&text)? {
            return Ok(ExitCode::SUCCESS);
        }
        thread::sleep(interval);
    }
}

/// The flows that are wanted, by their addresses, and how many more there are.
fn ask(args: &ShowArgs) -> Result<(Vec<FlowReport>, u64)> {
    let answer = args.control.ask(Request::Flows(args.filter.wanted()))?;
    let Answer::Flows { mut flows, omitted } = answer else {
        bail!(unexpected(&answer));
    };
    flows.sort_by(|a, b| a.flow.cmp(&b.flow));
    Ok((flows, omitted))
}

fn lines(flows: &[FlowReport], omitted: u64) -> Result<String> {
    let mut text: String = flows.iter().map(line).collect();
    if omitted > 0 {
        writeln!(
            text,
            "… and {omitted} more flows; --rule, --client, --limited-by and --slow choose among all"
        )?;
    }
    Ok(text)
}

/// A line that grows by ` name:value`.
struct Line(String);

impl Line {
    fn add(&mut self, name: &str, value: impl Display) {
        self.0.push_str(&format!(" {name}:{value}"));
    }

    fn add_known(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// What it has in flight, and what is known of its path.
    fn add_path(&mut self, figures: &FlowFigures) {
        self.add("cwnd", bytes(figures.cwnd_bytes));
        self.add_known("ssthresh", figures.ssthresh_bytes.map(bytes));
        self.add("edge", bytes(figures.edge_bytes));
        self.add("inflight", bytes(figures.inflight_bytes));
        self.add("queued", bytes(figures.queued_bytes));
        self.add("held", bytes(figures.held_bytes));
        let rtt = [figures.srtt_us, figures.rttvar_us].map(millis);
        self.add("rtt", rtt.join("/"));
        self.add("minrtt", millis(figures.min_rtt_us));
        self.add("mss", figures.mss_bytes);
        self.add("wscale", figures.wscale);
        self.add("delivery_rate", rate(figures.delivery_rate_bps));
        self.add_known("pacing_rate", figures.pacing_rate_bps.map(rate));
        self.add("bytes_acked", figures.bytes_acked);
    }

    /// What has happened to it.
    fn add_counts(&mut self, figures: &FlowFigures) {
        for (name, count) in [
            ("lost", figures.lost_segments),
            ("repaired", figures.repaired_segments),
            ("copies", figures.copied_segments),
            ("timeouts", figures.timeouts),
            ("handed_back", figures.handed_back),
            ("sender_retrans", figures.sender_retransmissions),
            ("marked_bytes", figures.marked_bytes),
            ("policed", figures.policed_packets),
            ("switches", figures.switches),
        ] {
            if count > 0 || matches!(name, "lost" | "repaired" | "handed_back") {
                self.add(name, count);
            }
        }
    }

    /// Who has decided what about it.
    fn add_reasons(&mut self, flow: &FlowReport) {
        let quoted = |text: &String| format!("\"{text}\"");
        self.add_known("held_out_by", flow.held_out.then_some("guard"));
        self.add_known("chosen_by", flow.chosen_by.as_ref());
        self.add_known("plugin_failed", flow.plugin_failed.as_ref().map(quoted));
        self.add_known("because", flow.because.as_ref().map(quoted));
        self.add_known("tenant", flow.tenant.as_ref());
        let priority = Some(flow.figures.priority).filter(|priority| *priority > 1);
        self.add_known("priority", priority);
        self.add("limited_by", &flow.limited_by);
    }
}

fn line(flow: &FlowReport) -> String {
    let mut line = Line(format!(
        "{} {} {} {}",
        flow.flow, flow.mode, flow.algorithm, flow.phase
    ));
    line.add_path(&flow.figures);
    line.add_counts(&flow.figures);
    line.add_reasons(flow);
    let mut text = line.0;
    if let Some(advice) = &flow.advice {
        text.push_str(&predicted(advice));
    }
    if flow.peer {
        text.push_str(" peer");
    }
    if flow.in_senders_hands {
        text.push_str(" in_senders_hands");
    }
    if let Some(reason) = &flow.passed {
        text.push_str(&format!(" passed:{reason}"));
    }
    text.push('\n');
    text
}

/// ` held_back_by:window goodput:1.2Mbit/s predicted:43.1Mbit/s speedup:36.20`
fn predicted(advice: &AdviceReport) -> String {
    let mut text = String::new();
    let mut add = |name: &str, value: String| text.push_str(&format!(" {name}:{value}"));
    if let Some(by) = &advice.held_back_by {
        add("held_back_by", by.clone());
    }
    add("goodput", rate(advice.goodput_bps));
    let least = match advice.predicted_at_least {
        true => ">=",
        false => "",
    };
    if let Some(goodput) = advice.predicted_goodput_bps {
        add("predicted", format!("{least}{}", rate(goodput)));
    }
    if let Some(percent) = advice.predicted_speedup_percent {
        add(
            "speedup",
            format!("{least}{}.{:02}", percent / 100, percent % 100),
        );
    }
    if let Some(why) = &advice.unpredicted {
        add("predicted", format!("\"no: {why}\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advised_flow_shows_what_enforcing_would_bring() {
        let known = AdviceReport {
            held_back_by: Some("window".to_owned()),
            goodput_bps: 1_200_000,
            predicted_goodput_bps: Some(43_100_000),
            predicted_speedup_percent: Some(3605),
            ..AdviceReport::default()
        };
        assert_eq!(
            predicted(&known),
            " held_back_by:window goodput:1.2Mbit/s predicted:43.1Mbit/s speedup:36.05"
        );
        let bounded = AdviceReport {
            predicted_at_least: true,
            ..known
        };
        assert!(predicted(&bounded).ends_with("predicted:>=43.1Mbit/s speedup:>=36.05"));
        let unknown = AdviceReport {
            held_back_by: Some("application".to_owned()),
            unpredicted: Some("limited by the application".to_owned()),
            ..AdviceReport::default()
        };
        assert_eq!(
            predicted(&unknown),
            " held_back_by:application goodput:0bit/s predicted:\"no: limited by the application\""
        );
        let flow = FlowReport {
            advice: Some(unknown),
            ..FlowReport::default()
        };
        assert!(
            line(&flow).contains("predicted:")
                && !line(&FlowReport::default()).contains("predicted")
        );
    }
}
