//! The configuration file that setup writes.

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item, Table, value};
use windlass_cc::Catalog;
use windlass_policy::Config;

/// The one that packages bring.
const SHIPPED: &str = include_str!("../../../../packaging/etc/windlass.toml");

/// The file with these interfaces, in mode `observe`. One that names them already stays as it is: its mode is the
/// operator's.
///
/// # Errors
/// The file that is there has a mistake.
pub(super) fn with_interfaces(
    before: Option<&str>,
    name: &str,
    sides: [&str; 2],
    catalog: &Catalog,
) -> Result<String> {
    let text = before.unwrap_or(SHIPPED);
    Config::parse(text, name, catalog)?;
    let mut document: DocumentMut = text.parse().with_context(|| name.to_owned())?;
    let keys = ["inside", "outside"];
    let named = keys.map(|key| {
        document
            .get("box")
            .and_then(|section| section.get(key)?.as_str())
    });
    if named == sides.map(Some) {
        return Ok(text.to_owned());
    }
    let section = section(&mut document, "box");
    for (key, side) in keys.into_iter().zip(sides) {
        section[key] = value(side);
    }
    self::section(&mut document, "default")["mode"] = value("observe");
    let text = document.to_string();
    Config::parse(&text, name, catalog)?;
    Ok(text)
}

fn section<'a>(document: &'a mut DocumentMut, name: &str) -> &'a mut Item {
    document.entry(name).or_insert(Item::Table(Table::new()))
}

/// The modes of a configuration beyond `observe`, as they are written: rule by rule.
pub(super) fn beyond_observing(text: &str) -> Vec<String> {
    let Ok(document) = text.parse::<DocumentMut>() else {
        return Vec::new();
    };
    let default = document
        .get("default")
        .and_then(|section| section.get("mode")?.as_str());
    let default = default.map(|mode| ("[default]".to_owned(), mode.to_owned()));
    let rules = document.get("rule").and_then(Item::as_array_of_tables);
    let rules = rules.into_iter().flatten().filter_map(|rule| {
        let name = rule
            .get("name")
            .and_then(Item::as_str)
            .unwrap_or("without a name");
        Some((
            format!("rule \"{name}\""),
            rule.get("mode")?.as_str()?.to_owned(),
        ))
    });
    let all = default.into_iter().chain(rules);
    all.filter(|(_, mode)| mode == "enforce" || mode == "advise")
        .map(|(place, mode)| format!("{place} has mode = \"{mode}\""))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(before: Option<&str>) -> String {
        with_interfaces(before, "w.toml", ["lan0", "wan0"], &Catalog::new()).unwrap()
    }

    #[test]
    fn the_shipped_file_gets_the_interfaces_and_observes() {
        let text = written(None);
        let config = Config::parse(&text, "w.toml", &Catalog::new()).unwrap();
        assert_eq!(config.device.inside.as_deref(), Some("lan0"));
        assert_eq!(config.device.outside.as_deref(), Some("wan0"));
        assert!(text.contains("mode = \"observe\""), "{text}");
        assert_eq!(written(Some(&text)), text, "once more changes nothing");
        let enforcing = text.replace("observe\"\n", "enforce\"\n");
        assert_eq!(
            written(Some(&enforcing)),
            enforcing,
            "the operator has gone on"
        );
        assert_eq!(
            beyond_observing(&enforcing),
            ["[default] has mode = \"enforce\""]
        );
    }

    #[test]
    fn what_else_is_in_a_file_stays_with_its_comments() {
        let own = "version = 1\n# mine\n[[rule]]\nname = \"web\" # why\nports = [443]\nmode = \"enforce\"\n";
        let text = written(Some(own));
        assert!(
            text.contains("# mine") && text.contains("name = \"web\" # why"),
            "{text}"
        );
        assert!(text.contains("inside = \"lan0\""), "{text}");
        assert_eq!(
            beyond_observing(&text),
            ["rule \"web\" has mode = \"enforce\""]
        );
        let wrong = with_interfaces(
            Some("version = 1\nx = 1\n"),
            "w.toml",
            ["a", "b"],
            &Catalog::new(),
        );
        assert!(wrong.unwrap_err().to_string().contains("w.toml:2:1"));
    }
}
