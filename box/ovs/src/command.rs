//! Commands as an operator would type them, printed and run.

use std::fmt;
use std::io::Write;
use std::process::{Command as Process, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Serialize, Serializer};

/// How long a program of Open vSwitch may wait for its daemon, s.
const TIMEOUT_S: u32 = 10;

/// A command of a system's own tools, and what it reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    words: Vec<String>,
    input: Option<String>,
}

impl Command {
    /// `line` has words without spaces in them.
    pub(crate) fn new(line: &str) -> Command {
        Command {
            words: line.split_whitespace().map(str::to_owned).collect(),
            input: None,
        }
    }

    /// `ovs-vsctl`, that gives up when ovs-vswitchd does not follow.
    pub(crate) fn vsctl(line: &str) -> Command {
        Command::new(&format!("ovs-vsctl --timeout={TIMEOUT_S} {line}"))
    }

    /// `ovs-ofctl` with these flags.
    pub(crate) fn ofctl(flags: &str, line: &str) -> Command {
        Command::new(&format!("ovs-ofctl --timeout={TIMEOUT_S} {flags} {line}"))
    }

    /// With one more word, whatever is in it.
    pub(crate) fn word(mut self, word: impl Into<String>) -> Command {
        self.words.push(word.into());
        self
    }

    /// With text on its standard input.
    pub(crate) fn input(mut self, text: String) -> Command {
        self.input = Some(text);
        self
    }

    /// The interface that it makes, if it does.
    pub(crate) fn made_link(&self) -> Option<&str> {
        match self.words.as_slice() {
            [ip, link, add, name, ..] if (&**ip, &**link, &**add) == ("ip", "link", "add") => {
                Some(name)
            }
            _ => None,
        }
    }

    /// A command of `ovs-vsctl` that does not wait for ovs-vswitchd.
    pub(crate) fn without_waiting(mut self) -> Command {
        self.words.insert(1, "--no-wait".to_owned());
        self
    }

    /// Runs it to its end and returns what it wrote to standard output.
    ///
    /// # Errors
    /// When it cannot be started or does not succeed; with the command and what it said.
    pub fn run(&self) -> Result<String> {
        let (program, arguments) = self.words.split_first().context("an empty command")?;
        let stdin = match self.input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        let mut child = Process::new(program)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {program}{}", origin(program)))?;
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), &self.input) {
            // A program that ends early says why; what it has not read does not matter then.
            let _ = pipe.write_all(text.as_bytes());
        }
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = self.words.join(" ");
            bail!("`{line}` failed ({}): {}", output.status, said.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// To be started and listened to. It ends with the thread that starts it, however that ends.
    pub(crate) fn attended(&self) -> Process {
        let mut process = Process::new("setpriv");
        process.args(["--pdeathsig", "KILL", "--"]);
        process.args(&self.words).env("LC_ALL", "C");
        process
    }
}

/// Where a program comes from on Debian.
fn origin(program: &str) -> &'static str {
    match program {
        "ovs-vsctl" | "ovs-ofctl" => " (on Debian: apt-get install openvswitch-switch)",
        "ip" => " (on Debian: apt-get install iproute2)",
        "ethtool" => " (on Debian: apt-get install ethtool)",
        _ => "",
    }
}

/// A line, or several, for a shell.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.words.iter().map(|w| quoted(w)).collect();
        f.write_str(&words.join(" "))?;
        match &self.input {
            Some(text) => write!(f, " <<'EOF'\n{text}EOF"),
            None => Ok(()),
        }
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_is_printed() {
        let command = Command::new("printf %s/ a").word("b c").word("d'e$f");
        let printed = command.to_string();
        let read = Command::new("sh -c").word(printed).run().expect("it runs");
        assert_eq!(read, "a/b c/d'e$f/");
        assert_eq!(read, command.run().expect("it runs"));
    }

    #[test]
    fn so_does_what_is_fed_to_it() {
        let command = Command::new("cat -").input("x $y\n\"z\"\n".to_owned());
        let printed = command.to_string();
        let read = Command::new("sh -c").word(printed).run().expect("it runs");
        assert_eq!(read, "x $y\n\"z\"\n");
        assert_eq!(read, command.run().expect("it runs"));
    }

    #[test]
    fn failure_has_the_command_and_its_last_words() {
        let error = Command::new("ls /no-such-folder").run().expect_err("none");
        let text = error.to_string();
        assert!(text.contains("`ls /no-such-folder` failed"), "{text}");
        assert!(text.contains("No such file"), "{text}");
    }
}
