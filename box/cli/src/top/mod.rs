//! `windlass top`: the flows in motion, in a terminal.
//!
//! `feed` asks the running windlass in a thread of its own, so that keys are answered whatever it does. `app` is what the
//! keys change, `draw` what is seen, `columns` how a flow is written.

mod app;
mod columns;
mod draw;
mod feed;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use windlass_daemon::view::Order;

use crate::ask::Control;
use crate::flow::filter::Filter;
use crate::values;
use app::App;
use feed::Feed;

/// How long the program may take to end after a signal.
const END_PATIENCE: Duration = Duration::from_millis(500);
/// How long keys are waited for before it is looked whether something has come.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// Show the flows in motion, the fastest first; `?` shows the keys.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// By what they are in order: rate, flow, rule, algorithm, rtt, window, flight, lost, bytes, handed_back.
    #[arg(long, value_name = "KEY", default_value = "rate", value_parser = order)]
    sort: Order,
    /// Time between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::interval)]
    interval: Duration,
    #[command(flatten)]
    control: Control,
}

fn order(text: &str) -> std::result::Result<Order, String> {
    let found = Order::ALL
        .into_iter()
        .find(|order| columns::name(*order) == text);
    found.ok_or_else(|| {
        let names = Order::ALL.map(columns::name);
        format!("one of {}", names.join(", "))
    })
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!("top needs a terminal (windlass flow show --watch works without)");
    }
    let ended = Arc::new(AtomicBool::new(false));
    end_at_signals(Arc::clone(&ended))?;
    let mut app = App::new(args.filter.wanted(), args.sort);
    let feed = Feed::start(args.control, args.interval)?;
    let mut terminal = ratatui::try_init().context("preparing the terminal")?;
    let shown = show(&mut terminal, &mut app, &feed, &ended);
    let restored = ratatui::try_restore().context("giving the terminal back");
    shown?;
    restored?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever waits for keys of a terminal that is gone may wait for ever: then the program ends without being asked.
fn end_at_signals(ended: Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP])?;
    let wait = move || {
        if signals.forever().next().is_some() {
            ended.store(true, Ordering::Release);
            thread::sleep(END_PATIENCE);
            ratatui::restore();
            std::process::exit(0);
        }
    };
    let named = thread::Builder::new().name("signals".to_owned());
    named.spawn(wait).map(drop)
}

/// Until `q`, or a signal that ends the program.
fn show(
    terminal: &mut DefaultTerminal,
    app: &mut App,
    feed: &Feed,
    ended: &AtomicBool,
) -> Result<()> {
    let mut changed = true;
    while !ended.load(Ordering::Acquire) && !app.is_over() {
        while let Some(news) = feed.news() {
            app.learn(news);
            changed = true;
        }
        if changed {
            terminal.draw(|frame| draw::draw(frame, app))?;
            feed.want(app.wanted());
            changed = false;
        }
        if event::poll(KEY_WAIT)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => app.press(key),
                _ => {}
            }
            changed = true;
        }
    }
    Ok(())
}
