//! Reading a script.

use windlass_engine::{Nanos, Side};
use windlass_wire::Flags;

use super::error::ScriptError;
use super::line::{Action, Comparison, Expected, Line, Script, When};
use super::parse_packet::packets;

/// The client's port where a line names none.
pub(super) const CLIENT_PORT: u16 = 40_000;
/// The longest time in a line.
const MAX_SECONDS: u64 = 1_000_000;
/// The longest payload of one packet, bytes.
const MAX_PAYLOAD_BYTES: u32 = 65_000;
const DEFAULT_TOLERANCE: Nanos = 500_000;

pub(super) type Read<T> = Result<T, String>;

pub(super) fn parse(text: &str) -> Result<Script, ScriptError> {
    let mut script = Script {
        tolerance: DEFAULT_TOLERANCE,
        v6: false,
        isn: [1_000_000, 2_000_000],
        lines: Vec::new(),
    };
    for (index, raw) in text.lines().enumerate() {
        let line = raw.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let number = index + 1;
        let read = match line.strip_prefix("option ") {
            Some(option) => set_option(&mut script, option),
            None => actions(line).map(|(when, actions)| {
                let lines = actions.into_iter().enumerate().map(|(i, action)| Line {
                    number,
                    text: line.into(),
                    // Further segments of one line do not move the clock.
                    when: if i == 0 { when } else { when.again() },
                    action,
                });
                script.lines.extend(lines);
            }),
        };
        read.map_err(|what| ScriptError {
            line: number,
            text: line.into(),
            what,
        })?;
    }
    Ok(script)
}

impl When {
    const AT_ONCE: When = When {
        relative: true,
        from: 0,
        to: 0,
    };

    fn again(self) -> When {
        if self.relative {
            When {
                relative: true,
                from: 0,
                to: self.to - self.from,
            }
        } else {
            self
        }
    }
}

fn set_option(script: &mut Script, option: &str) -> Read<()> {
    let words: Vec<&str> = option.split_whitespace().collect();
    match words[..] {
        ["tolerance", seconds] => script.tolerance = time(seconds)?,
        ["v6"] => script.v6 = true,
        ["isn", "server", isn] => script.isn[0] = number(isn)?,
        ["isn", "client", isn] => script.isn[1] = number(isn)?,
        _ => return Err(format!("unknown option {option:?}")),
    }
    Ok(())
}

fn actions(line: &str) -> Read<(When, Vec<Action>)> {
    if let Some(rest) = line.strip_prefix("expect ") {
        return Ok((When::AT_ONCE, vec![count(rest)?]));
    }
    let (first, rest) = word(line);
    let when = when(first)?;
    let (place, rest) = word(rest);
    let actions = match place {
        "server>" => put(Side::Inside, rest)?,
        "client>" => put(Side::Outside, rest)?,
        ">client" => expected(Side::Outside, rest)?,
        ">server" => expected(Side::Inside, rest)?,
        "expect" => vec![count(rest)?],
        _ => {
            return Err(format!(
                "{place:?} is none of server> client> >server >client"
            ));
        }
    };
    Ok((when, actions))
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

fn when(text: &str) -> Read<When> {
    let relative = text.starts_with('+');
    let span = text.strip_prefix('+').unwrap_or(text);
    let (from, to) = span.split_once("..").unwrap_or((span, span));
    let (from, to) = (time(from)?, time(to)?);
    if to < from {
        return Err(format!("{text:?} ends before it begins"));
    }
    Ok(When { relative, from, to })
}

/// Seconds to nanoseconds, without the rounding of a float.
fn time(text: &str) -> Read<Nanos> {
    let bad = || format!("{text:?} is not a time in seconds");
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if seconds.is_empty() || fraction.len() > 9 || !digits(seconds) || !digits(fraction) {
        return Err(bad());
    }
    let seconds: Nanos = seconds.parse().map_err(|_| bad())?;
    let nanos: Nanos = format!("{fraction:0<9}").parse().map_err(|_| bad())?;
    if seconds > MAX_SECONDS {
        return Err(format!("{text:?} is more than {MAX_SECONDS} s"));
    }
    Ok(seconds * 1_000_000_000 + nanos)
}

pub(super) fn number<N: std::str::FromStr>(text: &str) -> Read<N> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a number, or out of range"))
}

fn put(side: Side, text: &str) -> Read<Vec<Action>> {
    let packets = packets(text)?;
    for packet in &packets {
        let flags = packet.flags.ok_or("a packet to be sent needs flags")?;
        let (_, len) = packet
            .seq
            .ok_or("a packet to be sent needs start:end(length)")?;
        if len > MAX_PAYLOAD_BYTES {
            return Err(format!("a packet holds at most {MAX_PAYLOAD_BYTES} bytes"));
        }
        if flags.has(Flags::ACK) != packet.ack.is_some() {
            return Err("the flag . and ack go together".into());
        }
        if packet.more_options {
            return Err("... is for packets expected".into());
        }
    }
    Ok(packets
        .into_iter()
        .map(|packet| Action::Put(side, packet))
        .collect())
}

fn expected(side: Side, text: &str) -> Read<Vec<Action>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let one = match words[..] {
        ["*"] => Expected::Any,
        ["same"] => Expected::Same,
        ["skip"] => Expected::Skip,
        ["nothing", "for", span] => Expected::NothingFor(time(span)?),
        _ => {
            let packets = packets(text)?.into_iter();
            return Ok(packets
                .map(|p| Action::Expect(side, Expected::Packet(p)))
                .collect());
        }
    };
    Ok(vec![Action::Expect(side, one)])
}

fn count(text: &str) -> Read<Action> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (name, sign, value) = match words[..] {
        ["counter", name, sign, value] => (Some(name.to_string()), sign, value),
        ["held", sign, value] => (None, sign, value),
        _ => return Err("expect counter NAME == NUMBER, or expect held == NUMBER".into()),
    };
    let comparison = match sign {
        "==" => Comparison::Equal,
        "!=" => Comparison::Unequal,
        "<" => Comparison::Less,
        ">" => Comparison::Greater,
        "<=" => Comparison::AtMost,
        ">=" => Comparison::AtLeast,
        _ => return Err(format!("{sign:?} is none of == != < > <= >=")),
    };
    Ok(Action::Count(name, comparison, number(value)?))
}
