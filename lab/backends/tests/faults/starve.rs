//! Processes that take all the time that they get.

use std::process::{Child, Command, Stdio};

/// So many of them. Dropping it ends them.
pub struct Spinners(Vec<Child>);

impl Spinners {
    pub fn start(count: usize) -> Spinners {
        let spin = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]);
            shell.stdin(Stdio::null()).spawn().expect("a shell")
        };
        Spinners((0..count).map(|_| spin()).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
