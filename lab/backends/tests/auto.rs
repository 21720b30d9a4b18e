//! `algorithm = "auto"` and trials over simulated paths: what is learned is what is so.

use windlass_auto::Finding;
use windlass_cc::{AlgorithmId, Catalog, MILLISECOND, SECOND};
use windlass_engine::Limits;
use windlass_experiment::Observed;
use windlass_experiment::setup::{
    Bottleneck, Direction, FlowGroup, Loss, Pair, PathBox, Setup, client_address,
};
use windlass_lab::backend::sim;
use windlass_policy::{Config, Policy, SharedTrial};
use windlass_sim::EngineBox;

/// One server and two clients: to the first, 20 ms and nothing is lost; to the second, 80 ms and
/// 1 % is. Each downloads `count` times 2.5 MB, one after the other.
fn setup(count: u32, seed: u64) -> Setup {
    let link = |rtt_ms: u64, ratio: f64| {
        let up = Direction {
            rate_bits_per_s: 50_000_000,
            delay_ns: rtt_ms * MILLISECOND / 2,
            queue_bytes: rtt_ms * 50_000_000 / 8 / 1000,
            ..Direction::default()
        };
        let loss = Loss::Independent { ratio };
        let down = Direction { loss, ..up };
        Bottleneck {
            down,
            up,
            ..Bottleneck::default()
        }
    };
    let downloads = |pair: usize| FlowGroup {
        name: format!("to {pair}"),
        pair,
        pairs: 1,
        count,
        bytes: 2_500_000,
        interval_ns: 3 * SECOND,
        ..FlowGroup::default()
    };
    let mut setup = Setup {
        seed,
        limit_ns: 3 * SECOND * u64::from(count) + 60 * SECOND,
        path_box: PathBox::Windlass {
            policy: String::new(),
        },
        ..Setup::line(link(20, 0.0), vec![downloads(0), downloads(1)])
    };
    setup.bottlenecks.push(link(80, 0.01));
    setup.clients.push(setup.clients[0].clone());
    setup.pairs.push(Pair {
        client: 1,
        route: vec![1],
        ..setup.pairs[0].clone()
    });
    setup
}

fn run(setup: &Setup, policy: Policy) -> Observed {
    let mut engine = EngineBox::new(Box::new(policy), Limits::default(), setup.seed);
    let observed = sim::run(setup, &Catalog::new(), &mut engine, None);
    assert_eq!(observed.error, None);
    assert!(observed.flows.iter().all(|flow| flow.intact));
    observed
}

fn policy(explore: f64) -> Policy {
    let text = format!(
        "version = 1\n[auto]\narms = [\"reno\", \"bbr\"]\nexplore = {explore}\nprefix_v4 = 32\n\
         [[rule]]\nname = \"all\"\nalgorithm = \"auto\"\n"
    );
    Config::parse(&text, "w.toml", &Catalog::new())
        .unwrap()
        .policy()
}

/// Mean seconds of a download, by client.
fn seconds(observed: &Observed) -> [f64; 2] {
    [0, 1].map(|group| {
        let of = observed.flows.iter().filter(|flow| flow.group == group);
        let times: Vec<f64> = of.map(|flow| flow.seconds).collect();
        times.iter().sum::<f64>() / times.len() as f64
    })
}

#[test]
fn flows_get_what_is_best_on_the_way_to_them() {
    let learning = policy(0.5);
    run(&setup(40, 1), learning.clone());
    let beliefs = learning.auto().beliefs(200 * SECOND);
    let lossy = format!("{}/32", client_address(1));
    let of_lossy = beliefs
        .iter()
        .find(|b| b.prefix.is_some_and(|p| p.to_string() == lossy))
        .expect("it has been seen");
    let (best, sure) = of_lossy.belief.best();
    assert!(best == 1 && sure > 0.99, "{of_lossy:?}");
    let transfers: f64 = of_lossy.belief.arms.iter().map(|a| a.transfers).sum();
    assert!((38.5..40.1).contains(&transfers), "{transfers}");

    // The same paths again, by experience: as fast as the better of the two on each.
    let mut taught = policy(0.0);
    taught.inherit(&learning, 200 * SECOND);
    let taught = seconds(&run(&setup(10, 2), taught));
    let alone = ["reno", "bbr"].map(|name| {
        let text = format!("version = 1\n[default]\nalgorithm = \"{name}\"\n");
        seconds(&run(
            &setup(10, 2),
            Config::parse(&text, "w", &Catalog::new()).unwrap().policy(),
        ))
    });
    eprintln!(
        "taught {taught:.3?}, reno {:.3?}, bbr {:.3?}",
        alone[0], alone[1]
    );
    for path in [0, 1] {
        let best = alone[0][path].min(alone[1][path]);
        assert!(taught[path] <= 1.02 * best, "{path}: {taught:?}, {alone:?}");
    }
    assert!(
        taught[1] < 0.8 * alone[0][1],
        "it matters: {taught:?}, {alone:?}"
    );
}

/// Flows that are left to their server teach as the others do, and lose where the server is slow alone.
#[test]
fn a_flow_that_is_left_alone_teaches_too() {
    let text = "version = 1\n[auto]\narms = [\"observe\", \"bbr\"]\nexplore = 0.5\nprefix_v4 = 32\n\
                [[rule]]\nname = \"all\"\nalgorithm = \"auto\"\n";
    let config = Config::parse(text, "w.toml", &Catalog::new()).unwrap();
    let learning = config.policy();
    run(&setup(40, 1), learning.clone());
    let beliefs = learning.auto().beliefs(200 * SECOND);
    let [_, places @ ..] = &beliefs[..] else {
        panic!("{beliefs:?}");
    };
    assert_eq!(places.len(), 2);
    for place in places {
        let transfers: Vec<f64> = place.belief.arms.iter().map(|a| a.transfers).collect();
        let all: f64 = transfers.iter().sum();
        assert!(
            (38.5..40.1).contains(&all) && transfers[0] > 0.9,
            "{transfers:?}"
        );
        let lossy = place.prefix.expect("known").to_string() == format!("{}/32", client_address(1));
        let (best, sure) = place.belief.best();
        assert!(!lossy || (best == 1 && sure > 0.99), "{place:?}");
    }
}

/// The arm is drawn when the SYN-ACK has left, into which the box has put SACK for a server that does not do it. Such a flow
/// arrives intact without further help.
#[test]
fn a_server_without_sack_may_be_left_alone_after_its_handshake() {
    let text = "version = 1\n[auto]\narms = [\"observe\", \"bbr\"]\npriors = \"order\"\nexplore = 0.0\n\
                [[rule]]\nname = \"all\"\nalgorithm = \"auto\"\n";
    let config = Config::parse(text, "w.toml", &Catalog::new()).unwrap();
    let policy = config.policy();
    let mut setup = setup(3, 1);
    setup.servers[0].sack = false;
    run(&setup, policy.clone());
    let arms = &policy.tried()[0].arms;
    assert!(arms[0].flows >= 6 && arms[1].flows == 0, "{arms:?}");
}

/// What has been measured of the arms spares the first flows to a new place what the order of the list
/// would cost them.
#[test]
fn priors_spare_the_first_flows_what_others_have_paid() {
    let first = |priors: &str| {
        let text = format!(
            "version = 1\n[auto]\narms = [\"reno\", \"cubic\", \"bbr\"]\npriors = \"{priors}\"\n\
             explore = 0.1\nprefix_v4 = 32\n[[rule]]\nname = \"all\"\nalgorithm = \"auto\"\n"
        );
        let runs = [1, 2, 3].map(|seed| {
            let policy = Config::parse(&text, "w.toml", &Catalog::new())
                .unwrap()
                .policy();
            seconds(&run(&setup(8, seed), policy))
        });
        [0, 1].map(|path| runs.iter().map(|run| run[path]).sum::<f64>() / 3.0)
    };
    let (measured, order) = (first("measured"), first("order"));
    eprintln!("first eight downloads: {measured:.3?} s by priors, {order:.3?} by order");
    assert!(measured[0] < 1.05 * order[0], "{measured:?} {order:?}");
    assert!(measured[1] < 0.6 * order[1], "{measured:?} {order:?}");
}

#[test]
fn a_trial_compares_flows_of_one_path_and_time() {
    let text = "version = 1\n[[rule]]\nname = \"all\"\nalgorithm = \"cubic\"\n";
    let mut policy = Config::parse(text, "w.toml", &Catalog::new())
        .unwrap()
        .policy();
    let arms = vec![AlgorithmId::Reno.into(), AlgorithmId::Bbr.into()];
    let trial = SharedTrial::new(Some("all".to_owned()), arms.clone(), 0.75);
    policy.set_trial(Some(trial.clone()));
    run(&setup(80, 3), policy.clone());
    let report = trial.report();
    let flows: u64 = report.flows.iter().sum();
    assert!(
        (95..=145).contains(&flows),
        "three of four of 160: {report:?}"
    );
    let [(1, Finding::Ratio { high, .. })] = &report.findings[..] else {
        panic!("{report:?}");
    };
    assert!(*high < 1.0, "BBR is faster: {report:?}");

    // Of another rule's flows none takes part.
    let other = SharedTrial::new(Some("other".to_owned()), arms, 1.0);
    policy.set_trial(Some(other.clone()));
    run(&setup(3, 4), policy);
    assert_eq!(other.report().flows, [0, 0]);
}
