//! Plugins in charge of whole transfers, in the simulator.

mod modules;

use modules::{about, wat};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use windlass_cc::{AlgorithmId, Catalog, Settings};
use windlass_engine::{Arm, Comparison, Decide, Limits, Side, Transfer, Verdict};
use windlass_plugin::add;
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, Outcome, Scenario, World};
use windlass_wire::FlowKey;

const MS: u64 = 1_000_000;

/// Rules that leave flows to a comparison, and count the transfers that they hear of.
struct Compared {
    verdict: Verdict,
    learned: Arc<AtomicU32>,
}

impl Decide for Compared {
    fn classify(&self, _: &FlowKey, sender: Side, _now: u64) -> Option<Verdict> {
        (sender == Side::Inside).then_some(self.verdict)
    }

    fn learn(&self, _: &Verdict, _: &FlowKey, _: &Transfer, _now: u64) {
        self.learned.fetch_add(1, Ordering::Relaxed);
    }
}

/// How a transfer went.
struct Carried {
    outcome: Outcome,
    /// The plugin that failed, and how.
    failed: Option<String>,
    /// What was begun with.
    set: Settings,
    /// Who was in charge at last.
    in_charge: AlgorithmId,
    /// Transfers that the comparison has heard of.
    learned: u32,
}

/// 20 MB over 50 Mbit/s and 40 ms with 0.2 % loss, the box deciding as `settings` say.
fn transfer(settings: Settings) -> Carried {
    let mut scenario = Scenario::download(20_000_000, 50.0, 40.0);
    scenario.seed = 5;
    scenario.down.loss = Loss::Bernoulli { ratio: 0.002 };
    let verdict = Verdict {
        algorithm: settings,
        arm: Some(Arm {
            by: Comparison::Auto,
            number: 0,
        }),
        ..Verdict::enforce(AlgorithmId::Cubic)
    };
    let learned = Arc::default();
    let rules = Compared {
        verdict,
        learned: Arc::clone(&learned),
    };
    let mut middle = EngineBox::new(Box::new(rules), Limits::default(), 5);
    let mut world = World::new(&scenario);
    // The flow is looked at as late as it is there.
    let (mut failed, mut set, mut in_charge) = (None, settings, settings.id());
    for tenth in 1.. {
        world.run_until(tenth * 100 * MS, &mut middle);
        if let Some(info) = middle.flow_infos().first() {
            let of = |f: windlass_cc::Failed| format!("{}: {}", f.plugin.name(), f.fault);
            failed = info.failed.map(of);
            (set, in_charge) = (info.settings, info.algorithm);
        }
        if world.finished() || tenth > 3000 {
            break;
        }
    }
    world.run_until(600_000 * MS, &mut middle);
    let outcome = world.outcome(&middle);
    outcome.assert_intact(&scenario);
    Carried {
        outcome,
        failed,
        set,
        in_charge,
        learned: learned.load(Ordering::Relaxed),
    }
}

#[test]
fn a_plugin_carries_a_transfer_as_the_algorithm_it_is_written_after() {
    let Some(module) = modules::reno_c() else {
        return;
    };
    let id = add(&mut Catalog::new(), &module).expect("a plugin").id;
    let own = transfer(AlgorithmId::Reno.into());
    let plugin = transfer(id.into());
    assert_eq!((plugin.failed, plugin.in_charge), (None, id));
    assert_eq!(plugin.outcome.seconds, own.outcome.seconds);
    assert_eq!(plugin.outcome.counter("plugin_faults"), 0);
    assert_eq!(plugin.learned, 1);
}

/// In the midst of the transfer the plugin ends up in a loop.
#[test]
fn a_flow_goes_on_with_the_fallback() {
    let late = "(if (i64.gt_u (i64.load (i32.const 184)) (i64.const 5000000))
                  (then (if (i64.lt_u (i64.load (i32.const 184)) (i64.const 6000000))
                    (then (loop $l (br $l))))))
                (call $setCwnd (i64.const 300000))";
    let module = wat(&about("sim_loop", 0), late, "");
    let id = add(&mut Catalog::new(), module.as_bytes())
        .expect("a plugin")
        .id;
    let settings = Settings::from(id).with_fallback(AlgorithmId::Bbr);
    let carried = transfer(settings);
    assert_eq!(carried.outcome.counter("plugin_faults"), 1);
    assert_eq!(carried.in_charge, AlgorithmId::Bbr);
    assert_eq!(
        carried.failed.as_deref(),
        Some("sim_loop: it did not end within its instructions")
    );
    let seconds = carried.outcome.seconds;
    assert!(seconds < 6.0, "{seconds} s");
    assert_eq!(
        carried.learned, 0,
        "BBR's transfer says nothing of the plugin"
    );
}

/// Rules name the plugin as it was when they were read; flows to come begin with the newest, and are shown with it.
#[test]
fn flows_begin_with_the_newest() {
    let module = wat(
        &about("sim_newest", 0),
        "(call $setCwnd (i64.const 300000))",
        "",
    );
    let mut catalog = Catalog::new();
    let mut add = || add(&mut catalog, module.as_bytes()).expect("a plugin").id;
    let (older, newer) = (add(), add());
    assert_ne!(older, newer);
    let carried = transfer(older.into());
    assert_eq!((carried.failed, carried.in_charge), (None, newer));
    assert_eq!((carried.set, carried.learned), (newer.into(), 1));
}
