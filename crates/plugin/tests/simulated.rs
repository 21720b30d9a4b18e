//! Plugins in charge of whole transfers, in the simulator.

mod modules;

use modules::{about, wat};
use windlass_cc::{AlgorithmId, Settings};
use windlass_engine::{Limits, Verdict};
use windlass_plugin::add;
use windlass_sim::link::Loss;
use windlass_sim::{EngineBox, Middlebox, Outcome, Scenario, World};

const MS: u64 = 1_000_000;

/// 20 MB over 50 Mbit/s and 40 ms with 0.2 % loss, the box deciding as `settings` say.
fn transfer(settings: Settings) -> (Outcome, Option<String>, AlgorithmId) {
    let mut scenario = Scenario::download(20_000_000, 50.0, 40.0);
    scenario.seed = 5;
    scenario.down.loss = Loss::Bernoulli { ratio: 0.002 };
    let verdict = Verdict {
        algorithm: settings,
        ..Verdict::enforce(AlgorithmId::Cubic)
    };
    let mut middle = EngineBox::new(Box::new(verdict), Limits::default(), 5);
    let mut world = World::new(&scenario);
    // The flow is looked at as late as it is there.
    let (mut failed, mut algorithm) = (None, settings.id());
    for tenth in 1.. {
        world.run_until(tenth * 100 * MS, &mut middle);
        if let Some(info) = middle.flow_infos().first() {
            let of = |f: windlass_cc::Failed| format!("{}: {}", f.plugin.name(), f.fault);
            (failed, algorithm) = (info.failed.map(of), info.algorithm);
        }
        if world.finished() || tenth > 3000 {
            break;
        }
    }
    world.run_until(600_000 * MS, &mut middle);
    let outcome = world.outcome(&middle);
    outcome.assert_intact(&scenario);
    (outcome, failed, algorithm)
}

#[test]
fn a_plugin_carries_a_transfer_as_the_algorithm_it_is_written_after() {
    let Some(module) = modules::reno_c() else {
        return;
    };
    let id = add(&module).expect("a plugin").id;
    let (own, ..) = transfer(AlgorithmId::Reno.into());
    let (plugin, failed, algorithm) = transfer(id.into());
    assert_eq!((failed, algorithm), (None, id));
    assert_eq!(plugin.seconds, own.seconds);
    assert_eq!(plugin.counter("plugin_faults"), 0);
}

/// In the midst of the transfer the plugin ends up in a loop.
#[test]
fn a_flow_goes_on_with_the_fallback() {
    let late = "(if (i64.gt_u (i64.load (i32.const 184)) (i64.const 5000000))
                  (then (if (i64.lt_u (i64.load (i32.const 184)) (i64.const 6000000))
                    (then (loop $l (br $l))))))
                (call $setCwnd (i64.const 300000))";
    let module = wat(&about("sim_loop", 0), late, "");
    let id = add(module.as_bytes()).expect("a plugin").id;
    let settings = Settings::from(id).with_fallback(AlgorithmId::Bbr);
    let (outcome, failed, algorithm) = transfer(settings);
    assert_eq!(outcome.counter("plugin_faults"), 1);
    assert_eq!(algorithm, AlgorithmId::Bbr);
    assert_eq!(
        failed.as_deref(),
        Some("sim_loop: it did not end within its instructions")
    );
    assert!(outcome.seconds < 6.0, "{} s", outcome.seconds);
}
