//! Clients and servers are as a setup has them.

use super::*;

#[test]
fn hosts_are_what_the_setup_says() {
    let alone = |change: fn(&mut Setup)| {
        let mut setup = line(
            bottleneck(100 * MBIT, 40 * MS),
            flows("one", 0, 1, 2_000_000),
        );
        change(&mut setup);
        setup
    };
    let setups = [
        alone(|_| {}),
        // 64 KB a round trip.
        alone(|s| s.clients[0].window_scaling = false),
        alone(|s| s.clients[0].receive_buffer_bytes = 100_000),
        alone(|s| {
            s.servers[0].sack = false;
            s.servers[0].timestamps = false;
        }),
        alone(|s| s.flows[0].congestion_control = Some("bbr".to_owned())),
    ];
    let Some(observed) = run(&setups) else { return };
    let seconds: Vec<f64> = observed.iter().map(|o| o.flows[0].seconds).collect();
    println!("{seconds:?}");
    for one in &observed {
        assert_eq!(one.error, None);
        check(&one.flows[0], 2_000_000, 0.16 + 0.08, 4.0);
    }
    let rounds = 2_000_000.0 / 65_535.0;
    assert!(seconds[1] > rounds * 0.04, "{seconds:?}");
    assert!(seconds[2] > 2.0 * seconds[0], "{seconds:?}");
    // Without SACK each hole of an overshoot costs a round trip: nothing is said of [3].
    assert!(seconds[0].max(seconds[4]) < 1.0, "{seconds:?}");
}
