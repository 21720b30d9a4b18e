use super::*;

const MSS: u64 = 1000;

/// The example of RFC 9937 §8: 20 segments in flight, the first `lost` of them lost, one ACK for
/// each of the others; recovery begins at the third duplicate. Answers with (cwnd, inflight before
/// sending, segments sent) for every ACK; a segment is one byte.
fn figure(lost: u64, acks: usize) -> Vec<(u64, u64, u64)> {
    let mut outstanding = 20u64;
    let mut sacked = 0;
    let mut prr: Option<Prr> = None;
    let mut retransmitted = 0;
    let mut rows = Vec::new();
    for ack in 1..=acks {
        sacked += 1;
        if ack < 3 {
            let inflight = outstanding - sacked;
            outstanding += 1;
            rows.push((20, inflight, 1));
            continue;
        }
        let inflight = outstanding - sacked - lost + retransmitted;
        let prr = prr.get_or_insert_with(|| {
            let recover_fs = outstanding - sacked + 1;
            Prr::new(10, recover_fs, inflight, 1)
        });
        prr.on_ack(1, inflight, false, 1);
        let cwnd = prr.cwnd();
        let sent = cwnd.saturating_sub(inflight);
        for _ in 0..sent {
            prr.on_sent(1);
            if retransmitted < lost {
                retransmitted += 1;
            } else {
                outstanding += 1;
            }
        }
        rows.push((cwnd, inflight, sent));
    }
    rows
}

/// RFC 9937 §8, figure 1, ACKs 1–18. (At ACK 19 the figure prints 11 where the pseudocode of §6
/// gives 10: `inflight > ssthresh` is false there.)
#[test]
fn vectors_rfc_9937_figure_1() {
    let rows = figure(1, 18);
    let cwnd: Vec<u64> = rows.iter().map(|r| r.0).collect();
    assert_eq!(
        cwnd,
        [
            20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11
        ]
    );
    let sent: Vec<u64> = rows.iter().map(|r| r.2).collect();
    assert_eq!(sent, [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
}

/// RFC 9937 §8, figure 2: 15 of 20 lost.
#[test]
fn vectors_rfc_9937_figure_2() {
    assert_eq!(
        figure(15, 5),
        [(20, 19, 1), (20, 19, 1), (5, 4, 1), (5, 4, 1), (5, 4, 1)]
    );
}

/// cloudflare/quiche `prr.rs`: 500 bytes for an ACK of 1000 while the flight is twice the
/// threshold, 2000 by the slow-start bound, 1500 where the threshold is nearer.
#[test]
fn vectors_cloudflare_quiche_numbers() {
    let send = |ssthresh, inflight, safe| {
        let mut prr = Prr::new(ssthresh, 10_000, inflight, MSS);
        prr.on_ack(1000, inflight, safe, MSS);
        prr.cwnd() - inflight
    };
    assert_eq!(send(10_000, 1_000, true), 2_000);
    assert_eq!(send(2_500, 1_000, true), 1_500);
    assert_eq!(send(10_000, 1_000, false), 1_000);
    // 500 from the second ACK on: the fast retransmission itself is never held up.
    assert_eq!(send(5_000, 10_000, true), 1_000);
    let mut prr = Prr::new(5_000, 10_000, 10_000, MSS);
    prr.on_ack(1000, 10_000, true, MSS);
    prr.on_sent(500);
    prr.on_ack(1000, 10_000, true, MSS);
    assert_eq!(prr.cwnd() - 10_000, 500);
}

/// google/quiche `prr_sender_test`: with 50 in flight and a threshold of 25, one segment leaves
/// for every two ACKs.
#[test]
fn vectors_google_quiche_one_send_per_two_acks() {
    let mut prr = Prr::new(25 * MSS, 50 * MSS, 49 * MSS, MSS);
    let mut inflight = 49;
    let mut sends = Vec::new();
    for _ in 0..40 {
        inflight -= 1;
        prr.on_ack(MSS, inflight * MSS, false, MSS);
        let sent = (prr.cwnd() / MSS).saturating_sub(inflight);
        prr.on_sent(sent * MSS);
        inflight += sent;
        sends.push(sent);
    }
    assert_eq!(sends.iter().sum::<u64>(), 20);
    assert!(
        sends.chunks(2).all(|pair| pair.iter().sum::<u64>() == 1),
        "{sends:?}"
    );
}

/// ns-3 `tcp-prr-recovery-test` (140646449), `PrrRecoveryArithmeticTest`: a product beyond 32 bits, and
/// more sent than delivered. Recovery begins with a duplicate ACK, which stands for a segment.
#[test]
fn vectors_ns3_prr_arithmetic() {
    for (inflight, sent, delivered, cwnd) in [
        (200_000, 0, 50_000, 225_500),
        (50_000, 50_000, 1_000, 51_000),
    ] {
        let mut prr = Prr::new(100_000, inflight, inflight, MSS);
        prr.on_ack(MSS, inflight, false, MSS);
        prr.on_sent(sent);
        prr.on_ack(delivered, inflight, false, MSS);
        assert_eq!(prr.cwnd(), cwnd);
    }
}

/// google/packetdrill `fast_recovery/prr-ss-10pkt-lost-1`: a window of 10, a threshold of 7, the first
/// of ten segments lost; from the third SACK on each lets one segment out, and the window is 7.
/// And `prr-ss-30pkt-lost1_4`: with four lost, the third SACK and each after it let one repair out.
#[test]
fn vectors_packetdrill_prr_ss() {
    for lost in [1, 4] {
        let mut inflight = 10 - lost - 3;
        let mut prr = Prr::new(7 * MSS, 10 * MSS, inflight * MSS, MSS);
        for sack in 3..=10 - lost {
            if sack > 3 {
                inflight -= 1;
            }
            prr.on_ack(MSS, inflight * MSS, false, MSS);
            let sent = prr.cwnd() / MSS - inflight;
            assert_eq!(sent, 1, "{lost} lost, SACK {sack}");
            assert!(lost > 1 || prr.cwnd() == 7 * MSS, "{}", prr.cwnd());
            prr.on_sent(sent * MSS);
            inflight += sent;
        }
    }
}

/// More sent than delivered, and products beyond 64 bits.
#[test]
fn neither_wraps_nor_overflows() {
    let mut prr = Prr::new(1 << 39, 1 << 40, 1 << 40, MSS);
    prr.on_sent(1 << 41);
    prr.on_ack(1 << 40, (1 << 40) - 1, false, MSS);
    assert_eq!(prr.cwnd(), (1 << 40) - 1);
    prr.on_ack(u64::MAX, u64::MAX, true, MSS);
    assert_eq!(prr.cwnd(), u64::MAX);
}
