//! The results for programs.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::demo::Summary;
use crate::topology::SYSCTLS;

/// The JSON document: `parameters`, `environment`, `runs`, `medians` (seconds by case) and
/// `ratio_windlass_to_native_bbr`, `null` unless both were measured.
///
/// # Errors
/// None that can occur.
pub fn text(summary: &Summary) -> Result<String> {
    Ok(serde_json::to_string_pretty(&value(summary)?)? + "\n")
}

fn value(summary: &Summary) -> Result<Value> {
    let o = &summary.options;
    let runs: Vec<_> = summary.measured.iter().map(|m| &m.run).collect();
    let mut medians = Map::new();
    for &case in &o.cases {
        let median = summary.seconds(case).map(|s| s.median);
        medians.insert(case.key().to_owned(), json!(median));
    }
    let sysctls: Map<String, Value> = SYSCTLS
        .iter()
        .map(|&(key, value)| (key.to_owned(), json!(value)))
        .collect();
    Ok(json!({
        "parameters": {
            "runs": o.runs,
            "bytes": o.bytes,
            "rate_mbit": o.rate_mbit,
            "rtt_ms": o.rtt_ms,
            "loss_percent": o.loss_percent,
            "queue_bdp": o.queue_bdp,
            "queue_bytes": o.path().queue_bytes(),
            "algorithm": o.algorithm,
            "redundancy": o.redundancy,
            "seed": o.seed,
            "segment_offloads": false,
            "sysctls": sysctls,
        },
        "environment": serde_json::to_value(&summary.facts)?,
        "runs": serde_json::to_value(&runs)?,
        "medians": medians,
        "ratio_windlass_to_native_bbr":
            summary.ratio_to_native_bbr(crate::demo::Case::WindlassBbr),
    }))
}
