//! `[recorder]`: how much the flight recorder keeps.

use crate::error::Wrong;
use crate::read::Section;

const SECONDS_DEFAULT: u32 = 60;
const SECONDS_MAX: u64 = 86_400;
const MEMORY_DEFAULT_MB: u32 = 64;
const MEMORY_MAX_MB: u64 = 1 << 20;

/// How much the flight recorder keeps. There is one where the file has the section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecorderConfig {
    /// What is older is not shown, s.
    pub seconds: u32,
    /// Memory of all workers together, MB.
    pub memory_mb: u32,
}

impl Default for RecorderConfig {
    fn default() -> Self {
        RecorderConfig {
            seconds: SECONDS_DEFAULT,
            memory_mb: MEMORY_DEFAULT_MB,
        }
    }
}

/// Reads `[recorder]`.
pub(crate) fn read(mut section: Section<'_>) -> Result<RecorderConfig, Wrong> {
    let mut recorder = RecorderConfig::default();
    if let Some(value) = section.take("seconds") {
        recorder.seconds = value.integer(1..=SECONDS_MAX, "seconds")? as u32;
    }
    if let Some(value) = section.take("memory_mb") {
        recorder.memory_mb = value.integer(1..=MEMORY_MAX_MB, "MB")? as u32;
    }
    section.finish()?;
    Ok(recorder)
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;

    use super::*;
    use crate::Config;

    #[test]
    fn there_is_one_where_the_file_has_the_section() {
        let recorder = |text: &str| {
            let text = format!("version = 1\n{text}\n");
            Config::parse(&text, "w.toml", &Catalog::new())
                .expect("right")
                .recorder
        };
        assert_eq!(recorder(""), None);
        assert_eq!(recorder("[recorder]"), Some(RecorderConfig::default()));
        let small = RecorderConfig {
            seconds: 10,
            memory_mb: 2,
        };
        assert_eq!(
            recorder("[recorder]\nseconds = 10\nmemory_mb = 2"),
            Some(small)
        );
    }
}
