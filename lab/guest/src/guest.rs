//! A running guest.

mod console;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::archive::Archive;
use crate::image::Image;
use crate::processor_time::processor_time_s;

/// A guest that prints nothing for so long is taken for dead: in its processor's time, since on a
/// busy machine it gets little of that.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(600);
/// In real time, if it uses less of a processor than this: it waits for what never comes.
const STANDSTILL_SHARE: f64 = 0.01;
const MEMORY_MIB: u32 = 2048;
/// Room for translated code, MiB. When it is full, all of it is translated anew.
const TRANSLATION_MIB: u32 = 256;
/// No PCI, no firmware: boots in three quarters of the time of `pc`.
const MACHINE: &str = "microvm";
/// Of all that QEMU can translate, what makes the guest slower is left out: `rep movsb` (ERMS) is
/// one instruction a byte, SMAP ends a block of translated code at every copy to user space,
/// five-level page tables and AVX registers cost at every switch. Without ARAT there is no
/// high-resolution timer: pacing would have the grain of a tick.
const PROCESSOR: &str = "qemu64,+arat,+ssse3,+sse4.1,+sse4.2,+popcnt,+rdtscp,+fsgsbase,+rdrand";
/// One instruction takes 2^0 ns; a processor that waits for a timer is at that timer at once.
const CLOCK: &str = "shift=0,sleep=off";
/// `norandmaps`: the same program at the same addresses is translated once, not once a start.
/// `init_on_alloc`, `hardened_usercopy`, `lsm`, `psi` and the like: instructions saved for every
/// packet.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 reboot=t pci=off mitigations=off nokaslr \
    norandmaps tsc=reliable random.trust_cpu=on nowatchdog init_on_alloc=0 hardened_usercopy=off \
    audit=0 lsm=capability psi=0 cgroup_disable=memory ipv6.disable=1";

/// What a guest has to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The command has printed a line.
    Line(String),
    /// Nothing yet.
    Quiet,
    /// The command has ended, and the guest with it.
    End {
        /// The command's exit status.
        status: i32,
    },
}

/// A running guest. Dropping it ends it.
#[derive(Debug)]
pub struct Guest {
    qemu: Child,
    lines: Receiver<std::io::Result<String>>,
    heard: Heard,
    folder: TempDir,
}

/// The last sign of life.
#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Instant,
    /// Processor time used by then, s.
    cpu_s: f64,
}

impl Guest {
    /// Boots one that runs `command` by `sh`, with `input` in the file `/job/input`. Its files go
    /// to `folder`. It ends when the calling thread does.
    ///
    /// # Errors
    /// When QEMU cannot be started.
    pub fn start(image: &Image, folder: TempDir, command: &str, input: &[u8]) -> Result<Guest> {
        let initramfs = folder.path().join("initramfs");
        let mut job = Archive::default();
        job.add("job/command", command.as_bytes())?;
        job.add("job/input", input)?;
        let mut file = File::create(&initramfs)?;
        file.write_all(&image.initramfs)?;
        file.write_all(&job.finish()?)
            .context("cannot write the guest's files")?;
        let mut qemu = qemu(image, &folder)?
            .spawn()
            .context("cannot run setpriv and QEMU")?;
        let stdout = qemu.stdout.take().context("QEMU has no output")?;
        Ok(Guest {
            heard: Heard::now(qemu.id()),
            qemu,
            lines: read(stdout),
            folder,
        })
    }

    /// Waits so long for the next event. Nothing comes after [`Event::End`].
    ///
    /// # Errors
    /// When the guest died or is taken for dead, with the last words of its console.
    pub fn next(&mut self, patience: Duration) -> Result<Event> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                self.heard = Heard::now(self.qemu.id());
                let line = line.context("the guest printed what is no text")?;
                Ok(Event::Line(line))
            }
            Err(RecvTimeoutError::Timeout) => {
                let used_s = cpu_s(self.qemu.id()) - self.heard.cpu_s;
                let silent_s = self.heard.at.elapsed().as_secs_f64();
                if is_dead(silent_s, used_s) {
                    let said = self.last_words();
                    bail!(
                        "the guest has been silent for {silent_s:.0} s, {used_s:.0} s of them at \
                         work; its console:\n{said}"
                    );
                }
                Ok(Event::Quiet)
            }
            Err(RecvTimeoutError::Disconnected) => self.ended(),
        }
    }

    /// The end of what the console shows: what the kernel says, and the command's standard error.
    pub fn last_words(&self) -> String {
        console::last_words(&self.console())
    }

    /// What the console shows.
    fn console(&self) -> String {
        let bytes = fs::read(self.folder.path().join("console")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn ended(&mut self) -> Result<Event> {
        let exit = self.qemu.wait().context("cannot wait for QEMU")?;
        let console = self.console();
        if let Some(status) = console::status(&console) {
            return Ok(Event::End { status });
        }
        let said = fs::read_to_string(self.folder.path().join("qemu")).unwrap_or_default();
        let shown = console::last_words(&console);
        bail!("the guest died ({exit}). {said}\nits console:\n{shown}");
    }
}

impl Heard {
    fn now(pid: u32) -> Heard {
        Heard {
            at: Instant::now(),
            cpu_s: cpu_s(pid),
        }
    }
}

/// Silent for `silent_s` of real time, of which it has worked `used_s`.
fn is_dead(silent_s: f64, used_s: f64) -> bool {
    let limit_s = SILENCE_LIMIT.as_secs_f64();
    used_s >= limit_s || (silent_s >= limit_s && used_s < STANDSTILL_SHARE * silent_s)
}

/// Processor time of a process, s; 0 once it is gone.
fn cpu_s(pid: u32) -> f64 {
    processor_time_s(pid).unwrap_or(0.0)
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

fn qemu(image: &Image, folder: &TempDir) -> Result<Command> {
    let file = |name: &str| folder.path().join(name);
    // It shall not outlive the thread that waits for it, however that ends.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(&image.qemu);
    command.args(["-nodefaults", "-no-user-config", "-no-reboot"]);
    command.args(["-display", "none", "-machine", MACHINE, "-cpu", PROCESSOR]);
    command.args(["-accel", &format!("tcg,tb-size={TRANSLATION_MIB}")]);
    command.args(["-icount", CLOCK, "-smp", "1", "-seed", "1"]);
    command.args(["-m", &MEMORY_MIB.to_string()]);
    command.args(["-rtc", "base=2026-01-01,clock=vm"]);
    command.arg("-kernel").arg(&image.kernel);
    command.arg("-initrd").arg(file("initramfs"));
    command.args(["-append", KERNEL_ARGUMENTS]);
    let console = file("console");
    command
        .arg("-serial")
        .arg(format!("file:{}", console.display()));
    // As a file: QEMU's `stdio` takes the end of its input for the end of the port.
    command.args(["-chardev", "file,id=lines,path=/dev/stdout"]);
    command.args(["-device", "virtio-serial-device"]);
    command.args(["-device", "virtserialport,chardev=lines"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(File::create(file("qemu"))?);
    Ok(command)
}

/// Lines of the output as they come, on a thread that ends with the output.
fn read(output: ChildStdout) -> Receiver<std::io::Result<String>> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_gets_little_of_a_processor_is_not_dead() {
        assert!(!is_dead(3000.0, 300.0));
        assert!(is_dead(601.0, 600.0));
        assert!(is_dead(600.0, 0.5));
        assert!(!is_dead(599.0, 0.5));
    }

    #[test]
    fn the_time_of_a_process_grows_while_it_works() {
        let pid = std::process::id();
        let before = cpu_s(pid);
        let mut sum = 0u64;
        while cpu_s(pid) <= before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert_eq!(cpu_s(0), 0.0);
    }
}
