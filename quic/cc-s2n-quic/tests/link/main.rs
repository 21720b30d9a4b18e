//! Transfers over a link in virtual time: what each algorithm makes of a bottleneck, of random loss
//! and of marks. The clock is virtual: figures do not depend on the machine, but a little on chance,
//! since s2n-quic skips packet numbers at random.

mod network;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use network::{Link, LinkNetwork, Tally};
use s2n_quic::client::Connect;
use s2n_quic::provider::io::testing::{Handle, Result, primary, spawn, test_seed, time};
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Server};
use windlass_cc_s2n_quic::{AlgorithmId, CongestionControl, Observer, Report, Settings};

/// 20 Mbit/s, 40 ms, a BDP of queue.
const LINK: Link = Link {
    rate: 2_500_000,
    delay: Duration::from_millis(20),
    queue: 100_000,
    loss_one_in: 0,
    mark_above: None,
    outage: (0, 0),
};
const BYTES: usize = 10_000_000;

#[derive(Debug, Default)]
struct Reports(Mutex<Vec<Report>>);

impl Observer for Reports {
    fn observe(&self, report: &Report) {
        self.0.lock().expect("nothing panics with it").push(*report);
    }
}

/// What came of a transfer.
struct Outcome {
    /// From the first byte handed over to the close that the receiver has acknowledged.
    took: Duration,
    tally: Tally,
    reports: Vec<Report>,
}

impl Outcome {
    /// Goodput as a share of the link's rate.
    fn utilisation(&self, link: &Link) -> f64 {
        BYTES as f64 / self.took.as_secs_f64() / link.rate as f64
    }
}

fn serve(handle: &Handle, cert: &str, key: &str) -> Result<std::net::SocketAddr> {
    // As RFC 9000 §13.2 has it: an ACK for every second packet, and room for many holes.
    let limits = Limits::new()
        .with_ack_elicitation_interval(2)?
        .with_max_ack_ranges(100)?;
    let mut server = Server::builder()
        .with_tls((cert, key))?
        .with_limits(limits)?
        .with_io(handle.builder().build()?)?
        .start()?;
    let at = server.local_addr()?;
    spawn(async move {
        while let Some(mut connection) = server.accept().await {
            spawn(async move {
                while let Ok(Some(mut stream)) = connection.accept_receive_stream().await {
                    let mut received = 0;
                    while let Ok(Some(chunk)) = stream.receive().await {
                        received += chunk.len();
                        assert!(chunk.iter().all(|byte| *byte == 0x5a));
                    }
                    assert_eq!(received, BYTES, "all of it");
                }
            });
        }
    });
    Ok(at)
}

fn transfer(link: Link, settings: Settings) -> Outcome {
    let names = ["localhost".to_owned()];
    let certificate = rcgen::generate_simple_self_signed(names).expect("names are valid");
    let (cert, key) = (
        certificate.cert.pem(),
        certificate.signing_key.serialize_pem(),
    );
    let (network, tally) = LinkNetwork::new(link);
    let reports = Arc::new(Reports::default());
    let took = Arc::new(Mutex::new(Duration::ZERO));
    let (observer, end) = (reports.clone(), took.clone());
    test_seed(network, 1, move |handle| {
        let at = serve(handle, &cert, &key)?;
        let control = CongestionControl::new(settings)
            .with_seed(1)
            .with_observer(observer);
        let client = Client::builder()
            .with_tls(cert.as_str())?
            .with_io(handle.builder().build()?)?
            .with_congestion_controller(control)?
            .start()?;
        primary::spawn(async move {
            let to = Connect::new(at).with_server_name("localhost");
            let mut connection = client.connect(to).await.expect("the server listens");
            let mut stream = connection.open_send_stream().await.expect("it is open");
            let began = time::now();
            let content = Bytes::from(vec![0x5a; BYTES]);
            stream.send(content).await.expect("it is open");
            stream.close().await.expect("all is acknowledged");
            *end.lock().expect("nothing panics with it") = time::now() - began;
        });
        Ok(())
    })
    .expect("the transfer runs");
    Outcome {
        took: *took.lock().expect("nothing panics with it"),
        tally: *tally.lock().expect("nothing panics with it"),
        reports: std::mem::take(&mut *reports.0.lock().expect("nothing panics with it")),
    }
}

/// Sourdough's constants are those of another path: on this one the queue overflows before an RTT is late.
fn at_home_anywhere() -> impl Iterator<Item = AlgorithmId> {
    let all = AlgorithmId::ALL.iter().copied();
    all.filter(|id| *id != AlgorithmId::Sourdough)
}

#[test]
fn every_algorithm_fills_a_link_of_its_own() {
    for id in at_home_anywhere() {
        let outcome = transfer(LINK, id.into());
        // Headers take 5 %. Westwood and Copa lose by packets that come in twos and fours: the
        // one counts on an even flow of ACKs, the other takes its own bursts for a queue.
        let least = match id {
            AlgorithmId::Westwood | AlgorithmId::Copa => 0.55,
            _ => 0.75,
        };
        let share = outcome.utilisation(&LINK);
        assert!(share > least, "{id}: {share} {:?}", outcome.tally);
        let tally = outcome.tally;
        assert!(tally.dropped * 15 < tally.packets, "{id}: {tally:?}");
    }
}

#[test]
fn reports_tell_the_path() {
    let outcome = transfer(LINK, AlgorithmId::Cubic.into());
    let last = outcome.reports.last().expect("there were ACKs");
    assert!(last.delivered >= BYTES as u64, "{last:?}");
    assert!((40_000_000..42_000_000).contains(&last.min_rtt), "{last:?}");
    let dropped = outcome.tally.dropped * 1472;
    // Some that arrived behind many holes are never acknowledged.
    assert!(
        (dropped / 2..=dropped * 3 / 2).contains(&last.lost),
        "{last:?}"
    );
    for pair in outcome.reports.windows(2) {
        assert!(pair[0].delivered <= pair[1].delivered && pair[0].at <= pair[1].at);
    }
    let half = outcome.reports.len() / 2;
    let rate = outcome.reports[half].delivery_rate;
    assert!((2_000_000..2_600_000).contains(&rate), "{rate} bytes/s");
}

/// At 1 % random loss, what reduces by loss is held far below the link's rate, and BBR is not.
/// Which packets are lost changes with the packet numbers that s2n-quic skips: BBRv3's share of a
/// single transfer was 0.66 to 0.77 in 60 runs (median 0.75), and 0.58 once. So the median of five counts.
#[test]
fn bbr_keeps_its_rate_under_random_loss() {
    let lossy = Link {
        loss_one_in: 100,
        ..LINK
    };
    let share = |id: AlgorithmId| {
        let mut shares = [(); 5].map(|()| transfer(lossy, id.into()).utilisation(&lossy));
        shares.sort_by(f64::total_cmp);
        shares[2]
    };
    let (bbr, bbr3, reno) = (
        share(AlgorithmId::Bbr),
        share(AlgorithmId::Bbr3),
        share(AlgorithmId::Reno),
    );
    assert!(bbr > 0.85, "bbr {bbr}");
    assert!(bbr3 > 0.6, "bbr3 {bbr3}");
    assert!(reno < 0.4, "reno {reno}");
}

/// BBR leaves a queue of a few packets once it has found the rate; a window alone fills it.
#[test]
fn rates_are_kept_by_pacing() {
    let outcome = transfer(LINK, AlgorithmId::Bbr.into());
    let late = outcome.reports.iter().filter(|r| r.at > 2_000_000_000);
    let rtts: Vec<u64> = late.map(|r| r.latest_rtt / 1_000_000).collect();
    let mean = rtts.iter().sum::<u64>() / rtts.len() as u64;
    assert!(
        mean < 60,
        "mean RTT {mean} ms of 40 without and 80 with a full queue"
    );
    let paced = outcome.reports.iter().filter(|r| r.pacing_rate.is_some());
    assert!(paced.count() > outcome.reports.len() * 9 / 10);
}

/// DCTCP hears how many packets are marked: its queue stays at the threshold, and nothing is
/// dropped after slow start.
#[test]
fn marks_are_counted() {
    let marking = Link {
        mark_above: Some(25_000),
        queue: 300_000,
        ..LINK
    };
    let outcome = transfer(marking, AlgorithmId::Dctcp.into());
    assert_eq!(outcome.tally.dropped, 0);
    let last = outcome.reports.last().expect("there were ACKs");
    let marked = last.marked / 1450;
    let tally = outcome.tally;
    assert!(
        tally.marked > 100 && marked.abs_diff(tally.marked) < tally.marked / 5,
        "{last:?} {tally:?}"
    );
    let share = outcome.utilisation(&marking);
    assert!(share > 0.75, "{share}");
    let late = outcome.reports.iter().filter(|r| r.at > 2_000_000_000);
    let most = late.map(|r| r.latest_rtt).max().expect("there were ACKs");
    assert!(most < 65_000_000, "{most} ns of 160 ms with a full queue");
}

/// Everything is lost for two seconds: the rest arrives, and nothing is sent blindly meanwhile.
#[test]
fn an_outage_is_survived() {
    let broken = Link {
        outage: (1_000_000_000, 3_000_000_000),
        ..LINK
    };
    for id in at_home_anywhere() {
        let outcome = transfer(broken, id.into());
        let took = outcome.took.as_secs_f64();
        assert!((5.0..14.0).contains(&took), "{id}: {took} s");
        assert!(outcome.tally.lost < 400, "{id}: {:?}", outcome.tally);
    }
}
