//! Figures in the tables of a page.

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(str::trim).collect()
}

/// The numbers in a cell, in turn.
fn numbers(cell: &str) -> Vec<f64> {
    let cell = cell.replace(['*', ','], "");
    let words = cell.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    words
        .filter_map(|word| word.trim_end_matches('.').parse().ok())
        .collect()
}

/// A place in a page.
#[derive(Clone, Debug)]
pub struct Place {
    /// Words of the last line of text before the table, where rows of the same name are in more than one.
    pub table: Option<String>,
    /// What the first cells of the row say, with ` | ` between them.
    pub row: String,
    /// The head of the column.
    pub column: String,
    /// Which number of the cell.
    pub part: usize,
}

/// The number at a place.
pub fn figure(page: &str, place: &Place) -> Result<f64, String> {
    let begins = place.row.split(" | ").count();
    let mut head: Vec<&str> = Vec::new();
    let (mut found, mut before, mut said) = (Vec::new(), "", "");
    for line in page.lines() {
        if line.starts_with('|') {
            if !before.starts_with('|') {
                head = cells(line);
            }
            let own = cells(line);
            let is_meant = place.table.as_ref().is_none_or(|t| said.contains(t));
            let at = head.iter().position(|name| *name == place.column);
            if let Some(at) = at.filter(|_| is_meant && own.len() >= begins)
                && own[..begins].join(" | ") == place.row
            {
                found.push(own.get(at).copied().unwrap_or(""));
            }
        } else if !line.is_empty() {
            said = line;
        }
        before = line;
    }
    match found[..] {
        [cell] => numbers(cell)
            .get(place.part)
            .copied()
            .ok_or_else(|| format!("{place:?}: no such number in \"{cell}\"")),
        [] => Err(format!("{place:?}: no such row and column")),
        _ => Err(format!("{place:?}: more than one such row")),
    }
}

#[test]
fn figures_are_found_by_row_and_column() {
    let page = "x\n| | a | b |\n| --- | ---: | --- |\n| one | 1 | **2.5** / 1,909 |\n| two | – | 3 |\n\n| | b |\n| --- | --- |\n| three | 4 % |\n\n\
                The second:\n\n| n | m | b |\n| --- | --- | --- |\n| two | 5 | 6 |\n| two | 7 | 8 |\n";
    let place = |table: Option<&str>, row: &str, column: &str, part| Place {
        table: table.map(str::to_owned),
        row: row.to_owned(),
        column: column.to_owned(),
        part,
    };
    let at = |row, column, part| figure(page, &place(None, row, column, part));
    assert_eq!(at("one", "b", 0), Ok(2.5));
    assert_eq!(at("one", "b", 1), Ok(1909.0));
    assert_eq!(at("three", "b", 0), Ok(4.0));
    assert!(at("two", "a", 0).is_err() && at("three", "a", 0).is_err());
    assert_eq!(at("two | 7", "b", 0), Ok(8.0));
    assert!(at("two", "b", 0).is_err(), "in both tables");
    let second = |row| figure(page, &place(Some("second"), row, "b", 0));
    assert_eq!(second("two | 5"), Ok(6.0));
    assert!(second("one").is_err(), "in the first table");
}
