//! What setup asks at a terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use windlass_io::interface;

use super::place::Placement;

pub(super) struct Answers {
    pub placement: Placement,
    /// Inside, outside.
    pub sides: [String; 2],
}

pub(super) fn can_be_asked() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// # Errors
/// The terminal is closed.
pub(super) fn ask(placement: Option<Placement>) -> Result<Answers> {
    let names = interface::usable_names().context("asking for the interfaces")?;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    ask_at(&mut input, &mut output, placement, &names)
}

fn ask_at(
    input: &mut impl BufRead,
    output: &mut impl Write,
    placement: Option<Placement>,
    names: &[String],
) -> Result<Answers> {
    let placement = match placement {
        Some(placement) => placement,
        None => {
            let words = ["wire", "router", "hypervisor", "switch"];
            let what = "Where does the box stand (wire: between two interfaces of this machine)?";
            let word = choose(input, output, what, &words.map(str::to_owned))?;
            Placement::from_str(&word, false).unwrap_or(Placement::Wire)
        }
    };
    if placement != Placement::Wire {
        let sides = Default::default();
        return Ok(Answers { placement, sides });
    }
    if names.len() < 2 {
        bail!("there are not two interfaces here that could be joined: make them first");
    }
    let inside = choose(
        input,
        output,
        "Which interface is towards the governed senders?",
        names,
    )?;
    let others: Vec<String> = names
        .iter()
        .filter(|name| **name != inside)
        .cloned()
        .collect();
    let outside = choose(input, output, "Which one is towards the network?", &others)?;
    let sides = [inside, outside];
    Ok(Answers { placement, sides })
}

/// Asks until one of them is named.
fn choose(
    input: &mut impl BufRead,
    output: &mut impl Write,
    what: &str,
    names: &[String],
) -> Result<String> {
    loop {
        write!(output, "{what} [{}] ", names.join(", "))?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            bail!("no answer: nothing was changed");
        }
        let found = names.iter().find(|name| *name == line.trim());
        if let Some(name) = found {
            return Ok(name.clone());
        }
        writeln!(output, "\"{}\" is none of them.", line.trim())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(typed: &str) -> (Result<Answers>, String) {
        let names = ["eth0", "eth1", "eth2"].map(str::to_owned);
        let mut output = Vec::new();
        let answers = ask_at(&mut typed.as_bytes(), &mut output, None, &names);
        (answers, String::from_utf8(output).unwrap())
    }

    #[test]
    fn it_asks_again_and_offers_the_other_side_only_the_rest() {
        let (answers, shown) = asked("wire\neth9\neth1\neth1\neth2\n");
        assert_eq!(answers.unwrap().sides, ["eth1", "eth2"]);
        assert!(shown.contains("\"eth9\" is none of them."), "{shown}");
        assert!(shown.ends_with("[eth0, eth2] "), "{shown}");
        let (none, _) = asked("wire\n");
        assert!(none.is_err_and(|e| e.to_string().contains("nothing was changed")));
    }
}
