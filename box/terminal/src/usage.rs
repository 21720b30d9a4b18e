//! Tries what help texts and documents tell people to type.

use clap::Command;

/// The commands of a program that do something, with all their words: `windlass flow show`.
pub fn commands(program: &Command) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    below(program, &mut Vec::new(), &mut all);
    all
}

fn below(command: &Command, above: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    above.push(command.get_name().to_owned());
    if command.has_subcommands() {
        for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
            below(command, above, all);
        }
    } else {
        all.push(above.clone());
    }
    above.pop();
}

/// Types the usage line of a command as its help shows it, with a value of `values` for each name in angle brackets.
///
/// # Errors
/// What clap says to it, or the name that has no value.
pub fn type_usage(
    program: &Command,
    words: &[String],
    values: &[(&str, &str)],
) -> Result<(), String> {
    let mut program = program.clone();
    program.build();
    let mut command = &mut program.clone();
    for word in &words[1..] {
        let found = command.find_subcommand_mut(word);
        command = found.ok_or_else(|| format!("no command {word}"))?;
    }
    let usage = command.render_usage().to_string();
    let line = usage.trim_start_matches("Usage: ").lines().next();
    let typed = line.unwrap_or_default().replace("[OPTIONS]", "");
    let typed = fill(&first_choices(&typed), values)
        .map_err(|name| format!("{usage}: no value for {name}"))?;
    let words = words_of(&typed)?;
    let tried = program.try_get_matches_from(&words);
    tried
        .map(drop)
        .map_err(|error| format!("`{typed}` of \"{usage}\": {error}"))
}

/// `<a|--b <N>>`, a choice, becomes its first part: `<a>`.
fn first_choices(usage: &str) -> String {
    let mut text = String::new();
    let mut rest = usage;
    while let Some(at) = rest.find('<') {
        text += &rest[..at];
        let inside = matching(&rest[at..]);
        let choice = &rest[at + 1..at + inside];
        match choice.split_once('|').map(|(first, _)| first) {
            Some(first) if first.starts_with('-') => text += first,
            Some(first) => text += &format!("<{first}>"),
            None => text += &format!("<{choice}>"),
        }
        rest = &rest[at + inside + 1..];
    }
    text + rest
}

/// Where the bracket with which the text begins ends.
fn matching(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        // `A>B` in a name is no bracket; names end before a space or at the end.
        let ends = text[at + c.len_utf8()..]
            .chars()
            .next()
            .is_none_or(|next| !next.is_ascii_uppercase());
        if c == '>' && depth <= 0 && ends {
            return at;
        }
    }
    text.len() - 1
}

fn fill(usage: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = usage;
    loop {
        let Some(at) = rest.find(['<', '[']) else {
            return Ok(text + rest);
        };
        text += &rest[..at];
        if rest[at..].starts_with('[') {
            // What may be left out.
            let end = rest[at..].rfind(']').map_or(rest.len(), |end| at + end + 1);
            rest = rest[end..].trim_start_matches('.');
            continue;
        }
        let end = at + matching(&rest[at..]);
        let name = &rest[at + 1..end];
        let value = values.iter().find(|(known, _)| *known == name);
        text += value.ok_or_else(|| name.to_owned())?.1;
        rest = rest[end + 1..].trim_start_matches("...");
    }
}

/// The lines of a document that call `program`: those in blocks of code that begin with its name.
pub fn examples(document: &str, program: &str) -> Vec<String> {
    let mut in_code = false;
    let mut all = Vec::new();
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            let line = line.trim_start_matches("$ ").trim_start_matches("sudo ");
            if line.split(' ').next() == Some(program) {
                all.push(line.to_owned());
            }
        }
    }
    all
}

/// The words of a line, as a shell takes them; comments and what comes behind a pipe are left out.
///
/// # Errors
/// A quotation mark without its other.
pub fn words_of(line: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(line).ok_or_else(|| format!("{line}: a quotation mark is missing"))?;
    let ends = |word: &String| ["|", "&", "&&", ">", ";"].contains(&word.as_str());
    Ok(words.into_iter().take_while(|word| !ends(word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgGroup};

    fn send(hint: &'static str) -> Command {
        let group = ArgGroup::new("what").required(true).args(["file", "bytes"]);
        let send = Command::new("send")
            .arg(
                Arg::new("to")
                    .value_name("HOST")
                    .required(true)
                    .value_parser(["there"]),
            )
            .arg(Arg::new("file"))
            .arg(Arg::new("bytes").long("bytes").value_name("N"))
            .group(group);
        let send = match hint {
            "" => send,
            hint => send.override_usage(hint),
        };
        Command::new("carry").subcommand(send)
    }

    #[test]
    fn a_usage_line_in_the_wrong_order_is_found() {
        let words = ["carry", "send"].map(str::to_owned);
        let values = [
            ("HOST", "there"),
            ("FILE", "file.bin"),
            ("file", "file.bin"),
            ("N", "5"),
        ];
        let wrong = type_usage(&send(""), &words, &values);
        assert!(
            wrong.is_err_and(|e| e.contains("file.bin there")),
            "clap names the group first"
        );
        let right = send("carry send [OPTIONS] <HOST> <FILE|--bytes <N>>");
        assert_eq!(type_usage(&right, &words, &values), Ok(()));
        let other = send("carry send <HOST> <--bytes <N>|FILE>");
        assert_eq!(type_usage(&other, &words, &values), Ok(()));
    }

    #[test]
    fn examples_are_the_lines_of_code_blocks() {
        let text = "windlass no\n```sh\n$ windlass run --flow '1>2'  # so\nmake\n```\n";
        let found = examples(text, "windlass");
        assert_eq!(found, ["windlass run --flow '1>2'  # so"]);
        assert_eq!(
            words_of(&found[0]).unwrap(),
            ["windlass", "run", "--flow", "1>2"]
        );
    }
}
