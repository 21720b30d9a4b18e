//! Two ends that do what ends do, and a third party that does what it likes, around one box or two.
//!
//! `action` is what an input says, `act` what comes of it, `end` (with `offer`, `send`, `receive`,
//! `reassemble`) an end, `third` the third party, `path` what lies between, `travel` a frame's way, `middle`
//! the boxes (with `counted`), `said` (with `alike`) what may be shown to whom, `shown` what has been, `calm`
//! what must come of it.

mod act;
mod action;
mod alike;
mod calm;
mod counted;
mod end;
mod middle;
mod offer;
mod path;
mod reassemble;
mod receive;
mod said;
mod send;
mod shown;
mod third;
mod travel;

use windlass_sim::Nanos;
use windlass_wire::{Addr, FlowKey, parse};

use action::{Plan, Setup, Who};
use end::End;
use middle::Middle;
use offer::Offer;
use path::{Road, Travelling};
use said::Said;
use shown::Shown;

/// Events of one run at most.
const EVENTS: usize = 6_000;
/// What a handshake takes over the longest path.
const HANDSHAKE: Nanos = 500_000_000;
/// Between a box and the end beside it.
const NEAR: Nanos = 50_000;
/// What an action takes by itself.
const STEP: Nanos = 10_000;

struct World {
    now: Nanos,
    ends: [End; 2],
    boxes: Vec<Middle>,
    /// By box and speaker: the newest acknowledgement that has come there.
    heard: Vec<[Option<u32>; 2]>,
    roads: Vec<Road>,
    /// By side of the speaker.
    said: [Said; 2],
    shown: [Shown; 2],
    /// Everything has come in the order in which it was said.
    orderly: bool,
    seen: Vec<(Who, Vec<u8>)>,
    events: usize,
    most_events: usize,
    bypassed: bool,
    /// A box was given another policy before the ends had seen each other's SYN.
    reloaded_early: bool,
    aloud: bool,
}

/// Runs what `data` says. How many frames went through boxes.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) -> u64 {
    play(data, false)
}

/// The same, every step told if it is to be.
pub fn play(data: &[u8], aloud: bool) -> u64 {
    let Ok(plan) = Plan::read(data) else {
        return 0;
    };
    let mut world = World::new(&plan.setup);
    world.aloud = aloud;
    world.tell(|| format!("{:?}", plan.setup));
    world.ends[Who::Client as usize].connect(world.now);
    if plan.setup.numbers & 4 == 0 {
        world.run_until(world.now + HANDSHAKE);
    }
    for action in &plan.actions {
        world.tell(|| format!("{action:?}"));
        world.act(action);
        world.run_until(world.now + STEP);
    }
    world.calm_down();
    world.stop();
    world.boxes.iter().map(|middle| middle.frames).sum()
}

impl Who {
    fn other(self) -> Who {
        match self {
            Who::Server => Who::Client,
            Who::Client => Who::Server,
        }
    }
}

impl World {
    fn new(setup: &Setup) -> World {
        let two = setup.features >> 6 & 1 != 0;
        let boxes = (0..1 + usize::from(two))
            .map(|_| Middle::new(setup, two))
            .collect();
        let far: Nanos = 1_000_000 << (setup.delay % 8);
        let delays = match two {
            true => vec![NEAR, far, NEAR],
            false => vec![NEAR, far],
        };
        let roads = delays.iter().enumerate().flat_map(|(link, &delay)| {
            let down = Road::new(Who::Client, link + 1, delay);
            [down, Road::new(Who::Server, link, delay)]
        });
        World {
            now: 1_000_000_000,
            ends: [Who::Server, Who::Client].map(|who| an_end(who, setup)),
            heard: vec![[None; 2]; 1 + usize::from(two)],
            boxes,
            roads: roads.collect(),
            said: [Said::new(two), Said::new(two)],
            seen: Vec::new(),
            shown: Default::default(),
            orderly: true,
            events: 0,
            most_events: EVENTS,
            bypassed: false,
            reloaded_early: false,
            aloud: false,
        }
    }

    fn tell(&self, what: impl FnOnce() -> String) {
        if self.aloud {
            println!("{:10.3} ms {}", self.now as f64 / 1e6 - 1000.0, what());
        }
    }

    fn tell_frame(&self, place: &str, frame: &[u8]) {
        self.tell(|| match parse(frame, frame.len() as u32) {
            Ok(s) => format!(
                "  {place} :{} {}+{} ack {} win {} flags {:#x} ts {:?} sack {:?} {:?}",
                s.key.src_port,
                s.seq,
                s.payload_len,
                s.ack,
                s.window,
                s.flags.0,
                s.options.timestamps.map(|t| (t.val, t.ecr)),
                s.options.sack.iter().collect::<Vec<_>>(),
                s.ecn,
            ),
            Err(why) => format!("  {place} {why:?}"),
        });
    }

    /// Everything that happens until then.
    fn run_until(&mut self, until: Nanos) {
        self.depart();
        while self.events < self.most_events {
            let at = self.next_event().filter(|at| *at <= until);
            let Some(at) = at else { break };
            self.now = self.now.max(at);
            self.events += 1;
            self.happen();
            self.depart();
        }
        self.now = self.now.max(until);
    }

    fn next_event(&self) -> Option<Nanos> {
        let roads = self.roads.iter().filter_map(Road::poll_at);
        let boxes = self.boxes.iter().filter_map(Middle::poll_at);
        let ends = self.ends.iter().filter_map(End::poll_at);
        roads.chain(boxes).chain(ends).min()
    }

    fn happen(&mut self) {
        let now = self.now;
        let due = |at: Option<Nanos>| at.is_some_and(|at| at <= now);
        if let Some(road) = self.roads.iter_mut().find(|road| due(road.poll_at())) {
            let (node, toward) = (road.node, road.toward);
            if let Some(Travelling { frame, foreign, .. }) = road.frames.pop_front() {
                self.enter(node, toward, &frame, foreign);
            }
            return;
        }
        if let Some(index) = self.boxes.iter().position(|b| due(b.poll_at())) {
            let out = self.boxes[index].on_timer(now);
            return self.leave(index + 1, out);
        }
        if let Some(end) = self.ends.iter_mut().find(|end| due(end.poll_at())) {
            end.on_timer(now);
        }
    }
}

fn an_end(who: Who, setup: &Setup) -> End {
    let v6 = setup.features >> 7 != 0;
    let addresses: [Addr; 2] = match v6 {
        false => [[192, 0, 2, 1], [198, 51, 100, 2]].map(|a| std::net::Ipv4Addr::from(a).into()),
        true => [1, 2].map(|n| Addr((0x2001_0db8 << 96) + n)),
    };
    let key = FlowKey {
        src: addresses[0],
        dst: addresses[1],
        src_port: 443,
        dst_port: 40_000,
        ..FlowKey::default()
    };
    let index = who as usize;
    let offer = Offer::new(setup.offers[index], setup.scales[index]);
    let numbers = [
        [1_000, 3_000_000_000],
        [u32::MAX - 5_000, u32::MAX - 90],
        [0, 1 << 31],
        [1_000_000, 1_000_000],
    ];
    let key = match who {
        Who::Server => key,
        Who::Client => key.reversed(),
    };
    let numbers = numbers[usize::from(setup.numbers & 3)];
    End::new(who, key, offer, [numbers[index], numbers[1 - index]])
}
