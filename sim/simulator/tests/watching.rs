//! Losses, packet by packet: what they do to the window of a box that watches, and of one that governs.

use windlass_engine::{AlgorithmId, FlowInfo, Limits, Mode, Verdict};
use windlass_sim::{EngineBox, Middlebox, script};

const MSS: u64 = 1448;

/// Ten segments, of which the first is lost; while it is repaired, two more, and the first of
/// these is lost too.
const LOSS_IN_A_RECOVERY: &str = "
0      client> S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7>
+0     >server same
+0.001 server> S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,TS val 1001 ecr 1,nop,wscale 7>
+0     >client same
+0.1   client> . 1:1(0) ack 1 win 1024 <nop,nop,TS val 102 ecr 1001>
+0     >server skip
+0.01  server> . 1:14481(14480) ack 1 win 512 <nop,nop,TS val 1112 ecr 102> by 1448
+0     >client skip
+0.1   client> . 1:1(0) ack 1 win 1024 <nop,nop,TS val 212 ecr 1001,nop,nop,sack 1449:14481>
+0.001 >server skip
+0.001 server> . 1:1449(1448) ack 1 win 512 <nop,nop,TS val 1213 ecr 212>
+0.001 server> . 14481:18825(4344) ack 1 win 512 <nop,nop,TS val 1214 ecr 212> by 1448
+0.1   >client skip
+0.005 client> . 1:1(0) ack 1 win 1024 <nop,nop,TS val 314 ecr 1001,nop,nop,sack 1449:14481,sack 15929:18825>
+0     >server skip
";

/// The first repair arrives: all is acknowledged that was sent before the first loss was known.
const FIRST_RECOVERY_ENDS: &str = "
+0.01  client> . 1:1(0) ack 14481 win 1024 <nop,nop,TS val 325 ecr 1213,nop,nop,sack 15929:18825>
+0     >server skip
+0.05  >client skip
";

fn played(mode: Mode, text: &str) -> FlowInfo {
    let verdict = Verdict {
        mode,
        ..Verdict::enforce(AlgorithmId::Reno)
    };
    let mut middle = EngineBox::new(Box::new(verdict), Limits::default(), 1);
    script::run(text, &mut middle).unwrap_or_else(|e| panic!("{e}"));
    middle.flow_infos()[0]
}

/// RFC 6675 §5: a loss of what was sent during a recovery is another event.
#[test]
fn a_loss_within_a_recovery_opens_the_next() {
    for mode in [Mode::Advise, Mode::Enforce] {
        let first = played(mode, LOSS_IN_A_RECOVERY);
        assert!(first.in_recovery);
        assert_eq!(first.figures.ssthresh_bytes, Some(5 * MSS), "{mode:?}");
        let second = played(mode, &format!("{LOSS_IN_A_RECOVERY}{FIRST_RECOVERY_ENDS}"));
        assert!(second.in_recovery);
        assert_eq!(second.figures.ssthresh_bytes, Some(5 * MSS / 2), "{mode:?}");
    }
}

/// google/packetdrill `slow_start/slow-start-app-limited{,-9-packets-out}` and
/// `slow-start-ack-per-2pkt-send-{5,6}pkt`: `written` segments, of a window of ten, acknowledged by
/// twos. The window grows while it is less than twice what was in flight.
#[test]
fn what_is_not_sent_does_not_count_as_in_packetdrill() {
    for (written, windows) in [
        (10, [12, 14, 16, 18, 20].as_slice()),
        (9, &[12, 14, 16, 18, 18]),
        (6, &[12, 12, 12]),
        (5, &[10, 10, 10]),
    ] {
        let begins = "
0      client> S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0     >server same
+0     server> S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK,nop,wscale 8>
+0     >client same
+0.1   client> . 1:1(0) ack 1 win 1024
+0     >server same
";
        let end = 1 + 1000 * written;
        let mut text = format!(
            "{begins}+0.01 server> P. 1:{end}({}) ack 1 win 512 by 1000\n+0 >client skip\n",
            end - 1
        );
        for (n, window) in windows.iter().enumerate() {
            let acked = (1 + 2000 * (n + 1)).min(end);
            let gap = if n == 0 { 0.105 } else { 0.005 };
            text += &format!("+{gap} client> . 1:1(0) ack {acked} win 1024\n+0 >server same\n");
            let info = played(Mode::Advise, &text);
            assert_eq!(
                info.figures.cwnd_bytes / 1000,
                *window,
                "{written} written, ACK {}",
                n + 1
            );
        }
    }
}
