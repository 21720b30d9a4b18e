//! What a file becomes: which runs, in which order, with which setups.

mod words;

use std::collections::BTreeMap;

use windlass_cc::Catalog;
use windlass_experiment::setup::{Loss, PathBox, Setup, Sizes};
use windlass_experiment::{Condition, Experiment, Run, Settings};
use windlass_policy::Config;

fn read(text: &str) -> Experiment {
    let read = Experiment::parse(text, "x.toml", Settings::default(), &Catalog::new());
    read.unwrap_or_else(|e| panic!("{e}"))
}

fn setup(text: &str) -> Setup {
    let head = "version = 1\nname = \"x\"\n";
    read(&format!("{head}{text}")).runs[0].setup.clone()
}

const LINK: &str = "[link]\nrate_mbit = 50\nrtt_ms = 100\n";
const FLOWS: &str = "[[flows]]\nmb = 10\n";

const VARIED: &str = r#"
version = 1
name = "varied"
[link]
rate_mbit = 50
rtt_ms = 100
[[flows]]
name = "a"
mb = 1
[run]
repetitions = 2
[sweep]
link.loss_percent = [0, 1]
"flows.a.mb" = [1.2, 10]
[[case]]
name = "plain"
[[case]]
name = "bursts"
link.gilbert_elliott = { good_to_bad_percent = 1, bad_to_good_percent = 50 }
link.rtt_ms = 200
[[contestant]]
name = "native"
server.congestion_control = "bbr"
[[contestant]]
name = "boxed"
box = { kind = "windlass", algorithm = "bbr", redundancy = "early" }
"#;

#[test]
fn timing_that_is_irregular_goes_to_its_direction() {
    let links = "jitter_ms = 4\njitter_reorders = true\nack_jitter_ms = 2\nslots_ms = [3, 12]\n\
        ack_slots_ms = [10, 25]\npolicer = { rate_mbit = 20, burst_kb = 64 }\n";
    let bottleneck = setup(&format!("{LINK}{links}{FLOWS}")).bottlenecks[0].clone();
    let (down, up) = (bottleneck.down, bottleneck.up);
    assert_eq!((down.jitter_ns, up.jitter_ns), (4_000_000, 2_000_000));
    assert!(down.jitter_reorders && up.jitter_reorders);
    assert_eq!(down.slots_ns, Some((3_000_000, 12_000_000)));
    assert_eq!(up.slots_ns, Some((10_000_000, 25_000_000)));
    let policer = down.policer.expect("a policer");
    assert_eq!(
        (policer.rate_bits_per_s, policer.burst_bytes),
        (20_000_000, 64_000)
    );
    assert_eq!(up.policer, None);
}

/// Loss by chance and in bursts contradict each other.
fn varied() -> Experiment {
    read(&VARIED.replace(
        "link.loss_percent = [0, 1]",
        "link.ack_loss_percent = [0, 1]",
    ))
}

#[test]
fn cases_sweep_repetitions_and_contestants_multiply_in_this_order() {
    let experiment = varied();
    assert_eq!(experiment.parameters, ["ack_loss_percent", "mb"]);
    assert_eq!(experiment.contestants, ["native", "boxed"]);
    let cells: Vec<String> = (0..experiment.cells.len())
        .map(|c| experiment.describe(c))
        .collect();
    assert_eq!(
        cells[..5],
        [
            "plain, ack_loss_percent 0, mb 1.2",
            "plain, ack_loss_percent 0, mb 10",
            "plain, ack_loss_percent 1, mb 1.2",
            "plain, ack_loss_percent 1, mb 10",
            "bursts, ack_loss_percent 0, mb 1.2",
        ]
    );
    let order: Vec<_> = experiment
        .runs
        .iter()
        .map(|r| (r.cell, r.repetition, r.contestant))
        .collect();
    assert_eq!(order.len(), 2 * 2 * 2 * 2 * 2);
    assert_eq!(
        order[..5],
        [(0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1), (1, 1, 0)]
    );
}

#[test]
fn overrides_reach_the_setup() {
    let experiment = varied();
    let last = &experiment.runs.last().expect("runs").setup;
    assert_eq!(last.flows[0].bytes, 10_000_000);
    assert_eq!(last.bottlenecks[0].down.delay_ns, 100_000_000);
    assert_eq!(
        last.bottlenecks[0].up.loss,
        Loss::Independent { ratio: 0.01 }
    );
    let bursts = Loss::GilbertElliott {
        good_to_bad: 0.01,
        bad_to_good: 0.5,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    assert_eq!(last.bottlenecks[0].down.loss, bursts);
    assert_eq!(last.servers[0].congestion_control, "cubic");
    let first = &experiment.runs[0].setup;
    assert_eq!(first.servers[0].congestion_control, "bbr");
    assert_eq!(first.bottlenecks[0].down.loss, Loss::None);
    assert_eq!(first.path_box, PathBox::Nothing);
}

#[test]
fn contestants_share_a_seed_and_nothing_else_does() {
    let experiment = varied();
    let mut seeds: BTreeMap<u64, Vec<&Run>> = BTreeMap::new();
    for run in &experiment.runs {
        seeds.entry(run.setup.seed).or_default().push(run);
    }
    assert_eq!(seeds.len(), 2 * 2 * 2 * 2);
    for runs in seeds.values() {
        assert_eq!(runs.len(), 2);
        assert_eq!(
            (runs[0].cell, runs[0].repetition),
            (runs[1].cell, runs[1].repetition)
        );
    }
}

#[test]
fn a_cell_keeps_its_seeds_when_others_come_and_go() {
    let all = varied();
    let fewer = VARIED.replace("link.loss_percent = [0, 1]", "link.ack_loss_percent = [1]");
    let fewer = read(&fewer);
    let seed = |e: &Experiment, cell: &str| {
        let found = e.runs.iter().find(|r| e.describe(r.cell) == cell);
        found.expect(cell).setup.seed
    };
    let cell = "bursts, ack_loss_percent 1, mb 10";
    assert_eq!(seed(&all, cell), seed(&fewer, cell));
}

#[test]
fn settings_of_the_command_line_stand_in_for_the_file() {
    let settings = Settings {
        repetitions: Some(5),
        seed: Some(7),
    };
    let other = varied();
    let text = VARIED.replace(
        "link.loss_percent = [0, 1]",
        "link.ack_loss_percent = [0, 1]",
    );
    let experiment =
        Experiment::parse(&text, "x.toml", settings, &Catalog::new()).expect("no mistake");
    assert_eq!(experiment.runs.len(), other.runs.len() / 2 * 5);
    assert_ne!(experiment.runs[0].setup.seed, other.runs[0].setup.seed);
}

#[test]
fn a_selection_keeps_what_was_asked_for() {
    let mut experiment = varied();
    let conditions = [Condition::of_text("mb>=10").expect("a condition")];
    experiment
        .select(&["boxed".to_owned()], &conditions)
        .expect("some are left");
    assert_eq!(experiment.runs.len(), 8);
    assert!(
        experiment
            .runs
            .iter()
            .all(|r| r.contestant == 1 && r.setup.flows[0].bytes == 10_000_000)
    );
    let error = experiment
        .select(&["bxed".to_owned()], &[])
        .expect_err("unknown");
    assert!(error.contains("native, boxed"), "{error}");
    let mut refused = |text| {
        let condition = [Condition::of_text(text).expect("a condition")];
        experiment.select(&[], &condition).expect_err(text)
    };
    let error = refused("mb=3,10");
    assert!(
        error.starts_with("no cell has mb 3; there are: "),
        "{error}"
    );
    let error = refused("mb=10,loss_percent=1");
    assert!(
        error.ends_with("a second condition is a second --where"),
        "{error}"
    );
    assert!(refused("mb>1000").contains("no run is left"));
}

#[test]
fn a_line_has_a_queue_of_one_product_and_the_delay_in_halves() {
    let setup = setup(&format!("{LINK}{FLOWS}"));
    let down = setup.bottlenecks[0].down;
    assert_eq!(down.rate_bits_per_s, 50_000_000);
    assert_eq!(
        (down.delay_ns, setup.bottlenecks[0].up.delay_ns),
        (50_000_000, 50_000_000)
    );
    assert_eq!(down.queue_bytes, 625_000);
    assert_eq!(setup.flows[0].bytes, 10_000_000);
    assert_eq!(
        (setup.servers.len(), setup.clients.len(), setup.pairs.len()),
        (1, 1, 1)
    );
}

#[test]
fn a_queue_has_a_least_size_that_can_be_lowered() {
    let queue = |more: &str| {
        setup(&format!("{LINK}{more}\n{FLOWS}")).bottlenecks[0]
            .down
            .queue_bytes
    };
    assert_eq!(queue("queue_bdp = 0.1"), 100 * 1514);
    assert_eq!(queue("queue_bdp = 0.1\nqueue_min_packets = 1"), 62_500);
    assert_eq!(queue("queue_packets = 20"), 20 * 1514);
    assert_eq!(queue("queue_kb = 0"), 1514);
}

#[test]
fn changes_keep_what_they_do_not_name_and_the_queue() {
    let changes =
        "[[link.change]]\nat_s = 2\nrate_mbit = 20\n[[link.change]]\nat_s = 4\nrtt_ms = 40\n";
    let link = &setup(&format!("{LINK}{changes}{FLOWS}")).bottlenecks[0];
    let seen: Vec<_> = link
        .changes
        .iter()
        .map(|c| (c.at_ns, c.down.rate_bits_per_s, c.up.delay_ns))
        .collect();
    assert_eq!(
        seen,
        [
            (2_000_000_000, 20_000_000, 50_000_000),
            (4_000_000_000, 20_000_000, 20_000_000)
        ]
    );
    assert!(link.changes.iter().all(|c| c.down.queue_bytes == 625_000));
}

#[test]
fn topologies_have_their_routes() {
    let routes = |topology: &str| -> Vec<(usize, usize, Vec<usize>)> {
        let setup = setup(&format!("{LINK}{FLOWS}[topology]\n{topology}\n"));
        assert!(
            setup
                .pairs
                .iter()
                .all(|p| p.server < setup.servers.len() && p.client < setup.clients.len())
        );
        setup
            .pairs
            .iter()
            .map(|p| (p.server, p.client, p.route.clone()))
            .collect()
    };
    assert_eq!(
        routes("kind = \"dumbbell\"\npairs = 2"),
        [(0, 0, vec![0]), (1, 1, vec![0])]
    );
    assert_eq!(
        routes("kind = \"parking-lot\"\nbottlenecks = 2"),
        [(0, 0, vec![0, 1]), (1, 1, vec![0]), (2, 2, vec![1])]
    );
    assert_eq!(
        routes("kind = \"many-to-one\"\nsenders = 2"),
        [(0, 0, vec![0]), (1, 0, vec![0])]
    );
    assert_eq!(
        routes("kind = \"on-ramps\"\nramps = 3"),
        [(0, 0, vec![0, 1, 2]), (1, 1, vec![1, 2]), (2, 2, vec![2])]
    );
    assert_eq!(
        routes("kind = \"switch\"\nports = 3\nstrides = [1, 2]"),
        [
            (0, 1, vec![1]),
            (1, 2, vec![2]),
            (2, 0, vec![0]),
            (0, 2, vec![2]),
            (1, 0, vec![0]),
            (2, 1, vec![1]),
        ]
    );
}

#[test]
fn flows_go_around_pairs_with_sizes_by_chance_and_probes_beside_them() {
    let setup = setup(&format!(
        "{LINK}ecn_mark_packets = 10\ndrops_not_ect = true\n\
         [topology]\nkind = \"dumbbell\"\npairs = 5\n\
         [[flows]]\nmb = 3\npair = 1\npairs = 4\ncount = 9\nsizes = \"web-search\"\n\
         interval_s = 0.1\n[[probe]]\npair = 2\ninterval_ms = 0.5\n\
         [box]\nkind = \"windlass\"\nboth_ends = true\nfeedback = \"boxes\"\npolice = true\n"
    ));
    let flows = &setup.flows[0];
    assert_eq!([0, 3, 4].map(|i| flows.pair_of(i)), [1, 4, 1]);
    assert_eq!(flows.sizes, Some(Sizes::WebSearch));
    assert!((0..9).all(|i| flows.bytes_of(1, i) <= 3_000_000));
    assert_eq!(
        (setup.probes[0].pair, setup.probes[0].interval_ns),
        (2, 500_000)
    );
    assert!(setup.both_ends && setup.bottlenecks[0].down.drops_not_ect);
    let PathBox::Windlass { policy } = setup.path_box else {
        panic!("no box");
    };
    let verdict = Config::parse(&policy, "policy", &Catalog::new())
        .expect("a policy")
        .rules[0]
        .verdict;
    let verdict = verdict.expect("governed");
    assert_eq!(verdict.feedback.name(), "boxes");
    assert_eq!(verdict.police_tolerance, Some(3000));
}

#[test]
fn the_policy_made_leaves_alone_what_is_not_governed() {
    let competing = "[topology]\nkind = \"dumbbell\"\n[[flows]]\nmb = 1\n\
                     [[flows]]\nname = \"other\"\nmb = 1\npair = 1\ngoverned = false\n\
                     [box]\nkind = \"windlass\"\nalgorithm = \"bbr3\"\ninsert_sack = false\n";
    let PathBox::Windlass { policy } = setup(&format!("{LINK}{competing}")).path_box else {
        panic!("no box");
    };
    let config =
        Config::parse(&policy, "policy", &Catalog::new()).unwrap_or_else(|e| panic!("{e}"));
    let rules: Vec<_> = config
        .rules
        .iter()
        .map(|r| (r.verdict.is_some(), r.servers.len()))
        .collect();
    assert_eq!(rules, [(false, 1), (true, 0)]);
    assert_eq!(config.rules[0].servers[0].to_string(), "198.18.0.2/32");
    let verdict = config.rules[1].verdict.expect("governed");
    assert_eq!(verdict.algorithm.id().name(), "bbr3");
    assert!(!verdict.insert_sack);
}

#[test]
fn packets_are_as_long_as_the_mtu() {
    let link = format!("{LINK}queue_packets = 10\necn_mark_packets = 2\n{FLOWS}");
    let of = |text: &str| {
        let setup = setup(text);
        let down = setup.bottlenecks[0].down;
        (setup.mtu.bytes(), down.queue_bytes, down.ecn_mark_bytes)
    };
    assert_eq!(of(&link), (1500, 15_140, Some(3028)));
    let jumbo = format!("[topology]\nmtu = 9000\n{link}");
    assert_eq!(of(&jumbo), (9000, 90_140, Some(18_028)));
    let in_bytes = jumbo.replace("ecn_mark_packets = 2", "ecn_mark_kb = 98.41");
    assert_eq!(of(&in_bytes).2, Some(98_410));
}

#[test]
fn a_window_is_as_long_as_the_file_says() {
    let run = "[run]\nduration_s = 2\nwindow_s = 0.05\n[record]\nseries_ms = 1\n";
    assert_eq!(
        setup(&format!("{LINK}{FLOWS}{run}")).measure.window_ns,
        50_000_000
    );
}

#[test]
fn an_algorithm_is_like_linux_where_it_can_be() {
    let experiment = read(&format!(
        "version = 1\nname = \"x\"\n{LINK}{FLOWS}\
         [box]\nkind = \"windlass\"\nalgorithm = {{ name = \"{{algorithm}}\", like = \"linux\" }}\n\
         [server]\nalgorithm = {{ name = \"cubic\", beta = 0.8 }}\n\
         [sweep]\nalgorithm = [\"cubic\", \"veno\", \"reno\"]\n"
    ));
    let set = experiment.runs.iter().map(|run| {
        let PathBox::Windlass { policy } = &run.setup.path_box else {
            panic!("no box");
        };
        assert!(
            Config::parse(policy, "policy", &Catalog::new()).is_ok(),
            "{policy}"
        );
        let line = policy.lines().find(|l| l.starts_with("algorithm = "));
        line.map(str::to_owned).unwrap_or_default()
    });
    let wanted = [
        "algorithm = { name = \"cubic\", profile = \"linux\", slow_start = \"hystart\" }",
        "algorithm = { name = \"veno\", profile = \"linux\" }",
        "algorithm = \"reno\"",
    ];
    assert_eq!(set.collect::<Vec<_>>(), wanted);
    let algorithm = experiment.runs[0].setup.servers[0].algorithm.as_ref();
    let text = algorithm.map(|a| a.to_string());
    assert_eq!(text.as_deref(), Some("{ name = \"cubic\", beta = 0.8 }"));
}

/// Paths as they are: in the middle of them a box that stalls, a recorded rate, steps that come again, a page.
#[test]
fn paths_are_read_into_setups() {
    let trace = format!(
        "{}/../../experiments/traces/cellular.trace",
        env!("CARGO_MANIFEST_DIR")
    );
    let setup = setup(&format!(
        "[link]\nrate_mbit = 20\nrtt_ms = 60\nrecorded = \"{trace}\"\nchange_every_s = 30\n\
         change = [{{ at_s = 15, rtt_ms = 90 }}, {{ at_s = 30, rtt_ms = 60 }}]\n\
         [server_link]\nrate_mbit = 100\nrtt_ms = 8\nloss_percent = 4\n\
         [stalls]\nevery_ms = 300\nfor_ms = [10, 100]\n\
         [[flows]]\nkb = 40\ncount = 100\nat_once = 6\n"
    ));
    let ms = 1_000_000;
    let [link] = &setup.bottlenecks[..] else {
        panic!("{:?}", setup.bottlenecks)
    };
    assert_eq!(link.repeat_ns, 30_000 * ms);
    assert_eq!((link.down.recording, link.up.recording), (Some(0), None));
    assert!(setup.recordings[0].at_ms.len() > 1_000);
    assert_eq!(
        setup.recordings[0].at_ms.len(),
        setup.recordings[0].delay_ms.len()
    );
    let near = setup.server_link.as_ref().expect("a link");
    assert_eq!(near.down.delay_ns, 4 * ms);
    assert_eq!(near.down.loss, Loss::Independent { ratio: 0.04 });
    let stalls = setup.box_stalls.expect("stalls");
    assert_eq!(
        (stalls.every_ns, stalls.least_ns, stalls.most_ns),
        (300 * ms, 10 * ms, 100 * ms)
    );
    let group = &setup.flows[0];
    let waiting = (0..group.count).filter(|index| group.waits(*index));
    assert_eq!(waiting.count(), 94);
}
