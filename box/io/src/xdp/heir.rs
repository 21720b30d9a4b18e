//! A driver goes from one process to the next: sockets and memory by their descriptors, the rest as bytes.

use std::io;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use windlass_engine::Side;

use super::frames::{Frames, FramesState};
use super::port::{Port, PortState};
use super::socket::Socket;
use super::{Obtained, Place, XdpDriver};
use crate::memory::Mapping;
use crate::program::Switches;
use crate::pulse::Pulse;

/// Descriptors of a driver.
pub(crate) const DESCRIPTORS: usize = 3;

/// What a driver knows that neither its rings nor its memory say.
#[derive(Debug, Serialize, Deserialize)]
struct DriverState {
    frames: FramesState,
    ports: [PortState; 2],
}

impl XdpDriver {
    /// The sockets of both sides, and the memory of the frames.
    pub(super) fn share_descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        let [inside, outside] = &self.ports;
        let all = [inside.socket.fd(), outside.socket.fd(), self.frames.file()];
        all.into_iter().map(OwnedFd::try_clone).collect()
    }

    /// All that another process needs to go on, once this one does not touch the rings any more. Until it does, this one may
    /// go on itself.
    pub(super) fn export_state(&mut self) -> io::Result<Vec<u8>> {
        self.reap();
        self.flush()?;
        let state = DriverState {
            frames: self.frames.export(),
            ports: self.ports.each_ref().map(Port::export),
        };
        postcard::to_allocvec(&state).map_err(io::Error::other)
    }
}

/// A driver of another process, as far as it can be had while that goes on.
#[derive(Debug)]
pub(crate) struct Heir {
    place: Place,
    obtained: Obtained,
    sockets: [Socket; 2],
    memory: (Mapping, OwnedFd),
}

impl Heir {
    /// `descriptors` are those of [`crate::Driver::share`].
    pub(crate) fn new(
        place: Place,
        obtained: Obtained,
        descriptors: [OwnedFd; DESCRIPTORS],
    ) -> io::Result<Heir> {
        let [inside, outside, file] = descriptors;
        let map = |fd| Socket::inherit(fd, obtained.tx_budget);
        let len = place.frames as usize * place.frame_size as usize;
        Ok(Heir {
            place,
            obtained,
            sockets: [map(inside)?, map(outside)?],
            memory: (Mapping::of_file(&file, len)?, file),
        })
    }

    /// The socket of a side, to be entered into the map of sockets.
    pub(crate) fn socket(&self, side: Side) -> &OwnedFd {
        self.sockets[side.index()].fd()
    }

    /// Its queue.
    pub(crate) fn queue(&self) -> u32 {
        self.place.queue
    }

    /// The driver: the other process has stopped, and has said this.
    pub(crate) fn driver(
        self,
        state: &[u8],
        switches: Switches,
        pulse: Pulse,
    ) -> io::Result<XdpDriver> {
        let impossible = || io::Error::other("the state of the driver is damaged");
        let state: DriverState = postcard::from_bytes(state).map_err(|_| impossible())?;
        let place = &self.place;
        let kind = (place.frames, place.frame_size, place.seed);
        let frames = Frames::inherit(self.memory, kind, state.frames).ok_or_else(impossible)?;
        let mut driver =
            XdpDriver::new(place, frames, self.sockets, self.obtained, switches, pulse);
        for (port, state) in driver.ports.iter_mut().zip(state.ports) {
            port.go_on(state);
        }
        driver.refill();
        Ok(driver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handover::DRIVER_FORMAT;

    /// A packet of one frame that is held twice, frames 7 and 0 free; a repair of it waits at the inside, three are under way.
    const WRITTEN: [u8; 36] = [
        1, 5, 2, 5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xea, 0x0b, 64, 0xea, 0x0b, // used
        2, 7, 0, // free
        1, 5, 0, 1, 34, 16, 2, 3, // the inside: backlog, in flight
        2, 5, 1, 0, 0, 0xf7, 0x01, 1, 0, 1, 0, // the outside
    ];

    /// If this fails, raise [`DRIVER_FORMAT`] and write down what the new one has.
    #[test]
    fn the_state_of_this_format_is_read_as_it_was_written() {
        assert_eq!(DRIVER_FORMAT, 1);
        let state: DriverState = postcard::from_bytes(&WRITTEN).unwrap();
        let read = format!("{state:?}");
        for part in [
            "used: [(5, Frame { refs: 2, head: 5, next: 4294967295, total: 1514, start: 64, len: 1514 })]",
            "free: [7, 0]",
            "Tx { pkt: Pkt(5), to: Inside, checksum: Partial { start: 34, offset: 16 }, why: Repair }], in_flight: 3",
            "Tx { pkt: Pkt(5), to: Outside, checksum: Done, why: Forwarded }",
            "Tx { pkt: Pkt(247), to: Outside, checksum: Done, why: First }], in_flight: 0",
        ] {
            assert!(read.contains(part), "{part} in {read}");
        }
        assert_eq!(postcard::to_allocvec(&state).unwrap(), WRITTEN);
    }
}
