//! The thread that asks the running windlass.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use windlass_daemon::OverviewReport;
use windlass_daemon::control::{Answer, FlowNow, Request};
use windlass_daemon::view::{ViewQuery, ViewReport};

use crate::ask::{Control, unexpected};

/// What is to be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub query: ViewQuery,
    /// The flow that is looked at more closely.
    pub flow: Option<String>,
}

/// What was answered.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub overview: OverviewReport,
    /// Why there are no flows, if there are none.
    pub view: std::result::Result<ViewReport, String>,
    pub flow: Option<FlowNow>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            overview: OverviewReport::default(),
            view: Ok(ViewReport::default()),
            flow: None,
        }
    }
}

/// An answer, or why there is none.
pub(super) type News = std::result::Result<Box<Seen>, String>;

/// The thread. It ends with the program, or when this is dropped.
pub(super) struct Feed {
    wanted: Sender<Wanted>,
    news: Receiver<News>,
}

impl Feed {
    pub(super) fn start(control: Control, interval: Duration) -> io::Result<Feed> {
        let (wanted, wants) = mpsc::channel();
        let (tell, news) = mpsc::channel();
        let work = move || work(&control, interval, &wants, &tell);
        thread::Builder::new().name("feed".to_owned()).spawn(work)?;
        Ok(Feed { wanted, news })
    }

    /// What is asked from now on; if it is something else than before, at once.
    pub(super) fn want(&self, wanted: Wanted) {
        let _ = self.wanted.send(wanted);
    }

    /// The next answer, if one has come.
    pub(super) fn news(&self) -> Option<News> {
        self.news.try_recv().ok()
    }
}

fn work(control: &Control, interval: Duration, wants: &Receiver<Wanted>, tell: &Sender<News>) {
    let Ok(mut wanted) = wants.recv() else { return };
    loop {
        let asked = Instant::now();
        let news = ask(control, &wanted).map_err(|e| format!("{e:#}"));
        if tell.send(news.map(Box::new)).is_err() {
            return;
        }
        // Until it is time, or something else is wanted.
        loop {
            match wants.recv_timeout(interval.saturating_sub(asked.elapsed())) {
                Ok(other) if other == wanted => {}
                Ok(other) => {
                    wanted = other;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn ask(control: &Control, wanted: &Wanted) -> Result<Seen> {
    let overview = match control.ask(Request::Overview)? {
        Answer::Overview(overview) => *overview,
        other => bail!(unexpected(&other)),
    };
    // While it waits for an interface, it has no flows, and says why.
    let view = match control.ask(Request::View(wanted.query.clone())) {
        Ok(Answer::View(view)) => Ok(view),
        Ok(other) => Err(unexpected(&other).to_string()),
        Err(error) => Err(format!("{error:#}")),
    };
    let flow = match &wanted.flow {
        Some(flow) if view.is_ok() => {
            let flow = flow.clone();
            match control.ask(Request::Flow { flow })? {
                Answer::Flow(now) => Some(*now),
                other => bail!(unexpected(&other)),
            }
        }
        _ => None,
    };
    Ok(Seen {
        overview,
        view,
        flow,
    })
}
