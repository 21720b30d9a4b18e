//! What the guest's first process and its kernel say on the console.

/// How the line begins that says that the command has ended.
const END: &str = "guest: end ";
/// How the kernel begins to say that it cannot go on.
const PANIC: &str = "Kernel panic";
/// Lines of the console in an error message.
const LAST_LINES: usize = 15;

/// The command's exit status, if it has ended.
pub fn status(console: &str) -> Option<i32> {
    let mut ends = console.lines().filter_map(|l| l.trim().strip_prefix(END));
    ends.next_back()?.parse().ok()
}

/// The end of what the console shows, or the beginning of a kernel's panic.
pub fn last_words(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    let panic = lines.iter().position(|l| l.contains(PANIC));
    let from = panic.unwrap_or(lines.len().saturating_sub(LAST_LINES));
    let shown: Vec<&str> = lines[from..].iter().take(LAST_LINES).copied().collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_has_a_status() {
        assert_eq!(status("boot\r\nguest: end 3\r\n[ 1.0] off\r\n"), Some(3));
        assert_eq!(status("boot\r\nKernel panic\r\n"), None);
    }

    #[test]
    fn only_the_end_is_shown() {
        let long: String = (0..40).map(|n| format!("line {n}\r\n")).collect();
        let shown = last_words(&long);
        assert!(shown.starts_with("line 25\nline 26\n") && shown.ends_with("line 39"));
        assert_eq!(last_words("one"), "one");
        let panic = format!("boot\n[ 1.0] Kernel panic - not syncing\n{long}");
        let shown = last_words(&panic);
        assert!(shown.starts_with("[ 1.0] Kernel panic") && shown.ends_with("line 13"));
    }
}
