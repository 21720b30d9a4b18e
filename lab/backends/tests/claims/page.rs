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

/// The number in the row that begins so, in the column of this head.
pub fn figure(page: &str, row: &str, column: &str, part: usize) -> Result<f64, String> {
    let mut head: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let mut before = "";
    for line in page.lines() {
        if line.starts_with('|') {
            if !before.starts_with('|') {
                head = cells(line);
            }
            let at = head.iter().position(|name| *name == column);
            if let Some(at) = at.filter(|_| cells(line)[0] == row) {
                found.push(cells(line).get(at).copied().unwrap_or(""));
            }
        }
        before = line;
    }
    match found[..] {
        [cell] => numbers(cell)
            .get(part)
            .copied()
            .ok_or_else(|| format!("\"{row}\", {column}: no number {part} in \"{cell}\"")),
        [] => Err(format!(
            "no row \"{row}\" in a table with the column \"{column}\""
        )),
        _ => Err(format!(
            "more than one row \"{row}\" with the column \"{column}\""
        )),
    }
}

#[test]
fn figures_are_found_by_row_and_column() {
    let page = "x\n| | a | b |\n| --- | ---: | --- |\n| one | 1 | **2.5** / 1,909 |\n| two | – | 3 |\n\n| | b |\n| --- | --- |\n| three | 4 % |\n";
    assert_eq!(figure(page, "one", "b", 0), Ok(2.5));
    assert_eq!(figure(page, "one", "b", 1), Ok(1909.0));
    assert_eq!(figure(page, "three", "b", 0), Ok(4.0));
    assert!(figure(page, "two", "a", 0).is_err() && figure(page, "three", "a", 0).is_err());
}
