//! `[web]`: the page in the browser, beside a box that runs.

use std::path::PathBuf;

use anyhow::Result;
use windlass_policy::Config;

#[cfg(feature = "web")]
pub(crate) use with::{Page, Server};
#[cfg(not(feature = "web"))]
pub(crate) use without::{Page, Server};

/// The page of the configuration, if it has one: whoever comes waits until it is served.
///
/// # Errors
/// It cannot be had.
pub(crate) fn bind(config: &Config) -> Result<Option<Page>> {
    config.web.as_ref().map(Page::bind).transpose()
}

/// Serves it with what the box at this control socket says. Without a page the box runs, too.
pub(crate) fn serve(page: Option<Page>, control: PathBuf) -> Option<Server> {
    match page?.serve(control) {
        Ok(server) => Some(server),
        Err(error) => {
            eprintln!("windlass: {error}");
            None
        }
    }
}

#[cfg(feature = "web")]
mod with {
    use std::net::SocketAddr;
    use std::path::PathBuf;

    use anyhow::Result;
    use windlass_policy::WebConfig;
    use windlass_terminal::print;
    pub(crate) use windlass_web::Server;
    use windlass_web::WebError;

    pub(crate) struct Page {
        page: windlass_web::Page,
        listen: SocketAddr,
    }

    impl Page {
        pub(super) fn bind(config: &WebConfig) -> Result<Page> {
            Ok(Page {
                page: windlass_web::Page::bind(config)?,
                listen: config.listen,
            })
        }

        pub(super) fn serve(self, control: PathBuf) -> Result<Server, WebError> {
            let server = self.page.serve(control)?;
            // Whether somebody reads it or not.
            let _ = print(&format!("windlass: page: http://{}/\n", self.listen));
            Ok(server)
        }
    }
}

#[cfg(not(feature = "web"))]
mod without {
    use std::path::PathBuf;

    use anyhow::{Result, bail};
    use windlass_policy::WebConfig;

    /// There is none.
    pub(crate) enum Page {}
    pub(crate) enum Server {}

    impl Page {
        pub(super) fn bind(_: &WebConfig) -> Result<Page> {
            bail!(
                "this windlass was built without its page: take [web] out of the configuration, or build it with the feature \"web\""
            )
        }

        pub(super) fn serve(self, _: PathBuf) -> Result<Server> {
            match self {}
        }
    }
}
