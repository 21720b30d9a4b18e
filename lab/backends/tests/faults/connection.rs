//! One end of a transfer's connection, moved on whenever its socket is ready.
//!
//! The outside connects and says the transfer's number. The sender of the data sends them and
//! closes its direction; the receiver compares each byte, and when nothing is missing at the end it
//! says so in one byte. The sender waits for that byte.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use nix::sys::epoll::EpollFlags;

use crate::content::{Content, PIECE_BYTES};
use crate::transfer::{Transfer, Way};

const WHOLE: u8 = b'+';
const NUMBER_BYTES: usize = 8;
/// Pieces moved before other connections have their turn.
const PIECES_A_TURN: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Connecting,
    /// The inside waits to be told which transfer this is.
    AwaitNumber,
    Sending,
    AwaitVerdict,
    Receiving,
    Over,
}

pub struct Connection {
    pub socket: TcpStream,
    pub transfer: Option<Arc<Transfer>>,
    stage: Stage,
    number: Vec<u8>,
    at: u64,
}

impl Connection {
    /// The outside's end, whose connecting has begun.
    pub fn dialled(socket: TcpStream, transfer: Arc<Transfer>) -> Connection {
        Connection {
            socket,
            transfer: Some(transfer),
            stage: Stage::Connecting,
            number: Vec::new(),
            at: 0,
        }
    }

    /// The inside's end.
    pub fn accepted(socket: TcpStream) -> Connection {
        Connection {
            socket,
            transfer: None,
            stage: Stage::AwaitNumber,
            number: Vec::new(),
            at: 0,
        }
    }

    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// What it waits for.
    pub fn interest(&self) -> EpollFlags {
        match self.stage {
            Stage::Connecting | Stage::Sending => EpollFlags::EPOLLOUT,
            _ => EpollFlags::EPOLLIN,
        }
    }

    /// Does what can be done now. A failure is the transfer's.
    pub fn advance(&mut self, content: &Content, all: &[Arc<Transfer>]) {
        match self.step(content, all) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => self.fail(&format!("{:?}: {e}", self.stage)),
        }
    }

    pub fn fail(&mut self, why: &str) {
        self.stage = Stage::Over;
        if let Some(transfer) = &self.transfer {
            transfer.conclude(Some(why.to_owned()));
        }
    }

    fn step(&mut self, content: &Content, all: &[Arc<Transfer>]) -> io::Result<()> {
        if self.stage == Stage::Connecting {
            self.finish_connecting()?;
        }
        if self.stage == Stage::AwaitNumber {
            self.read_number(all)?;
        }
        let Some(transfer) = self.transfer.clone() else {
            return Ok(());
        };
        match self.stage {
            Stage::Sending => self.send(&transfer, content)?,
            Stage::Receiving => self.receive(&transfer, content)?,
            _ => {}
        }
        if self.stage == Stage::AwaitVerdict {
            self.read_verdict(&transfer)?;
        }
        Ok(())
    }

    fn finish_connecting(&mut self) -> io::Result<()> {
        if let Some(e) = self.socket.take_error()? {
            return Err(e);
        }
        let transfer = self.transfer.as_ref().expect("of the one that dials");
        // Eight bytes fit into the buffer of a new socket.
        self.socket.write_all(&transfer.number.to_le_bytes())?;
        transfer.note_connected();
        self.stage = match transfer.way {
            Way::Down => Stage::Receiving,
            Way::Up => Stage::Sending,
        };
        Ok(())
    }

    fn read_number(&mut self, all: &[Arc<Transfer>]) -> io::Result<()> {
        while self.number.len() < NUMBER_BYTES {
            let mut rest = [0; NUMBER_BYTES];
            let room = NUMBER_BYTES - self.number.len();
            match self.socket.read(&mut rest[..room])? {
                // Whoever dialled has given up.
                0 => {
                    self.stage = Stage::Over;
                    return Ok(());
                }
                got => self.number.extend(&rest[..got]),
            }
        }
        let number = u64::from_le_bytes(self.number[..].try_into().expect("eight bytes"));
        let transfer = all.get(number as usize).cloned();
        let transfer = transfer.ok_or_else(|| io::Error::other("an unknown transfer"))?;
        self.stage = match transfer.way {
            Way::Down => Stage::Sending,
            Way::Up => Stage::Receiving,
        };
        self.transfer = Some(transfer);
        Ok(())
    }

    fn send(&mut self, transfer: &Transfer, content: &Content) -> io::Result<()> {
        for _ in 0..PIECES_A_TURN {
            let left = transfer.left_to_send().unwrap_or(u64::MAX);
            if left == 0 {
                self.socket.shutdown(Shutdown::Write)?;
                self.stage = Stage::AwaitVerdict;
                break;
            }
            let length = left.min(PIECE_BYTES as u64) as usize;
            let piece = content.piece(transfer.number, self.at, length);
            let sent = self.socket.write(piece)?;
            self.at += sent as u64;
            transfer.note_sent(sent);
        }
        Ok(())
    }

    fn receive(&mut self, transfer: &Transfer, content: &Content) -> io::Result<()> {
        let mut buffer = [0; PIECE_BYTES];
        for _ in 0..PIECES_A_TURN {
            let got = self.socket.read(&mut buffer)?;
            if got == 0 {
                if !transfer.is_whole() {
                    return Err(io::Error::other("the end came too soon"));
                }
                self.socket.write_all(&[WHOLE])?;
                self.stage = Stage::Over;
                break;
            }
            if buffer[..got] != *content.piece(transfer.number, self.at, got) {
                return Err(io::Error::other("CORRUPT: not the bytes that were sent"));
            }
            self.at += got as u64;
            transfer.note_received(got);
        }
        Ok(())
    }

    fn read_verdict(&mut self, transfer: &Transfer) -> io::Result<()> {
        let mut verdict = [0];
        match (self.socket.read(&mut verdict)?, verdict[0]) {
            (1, WHOLE) => {
                self.stage = Stage::Over;
                transfer.conclude(None);
                Ok(())
            }
            _ => Err(io::Error::other("the receiver had not everything")),
        }
    }
}
