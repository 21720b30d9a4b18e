//! The way there.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use windlass_cc::Catalog;
use windlass_daemon::control::{Request, ask};
use windlass_io::interface::Interface;
use windlass_terminal::print;

use super::plan::{Step, steps};
use super::record::{Record, content, replace};
use super::{Args, command, configuration, service};
use crate::doctor;

/// A file to write.
struct NewFile {
    path: std::path::PathBuf,
    text: String,
}

pub(super) fn run(args: &Args, sides: &[String; 2], catalog: &Catalog) -> Result<ExitCode> {
    let names = [sides[0].as_str(), sides[1].as_str()];
    let both = names.map(|name| Interface::get(name).with_context(|| format!("interface {name}")));
    let [inside, outside] = both;
    let (inside, outside) = (inside?, outside?);
    if names[0] == names[1] {
        bail!("{} cannot be both interfaces", names[0]);
    }
    let record = Record::read(&args.record)?;
    if let Some(known) = record
        .iter()
        .find(|known| [known.inside.as_str(), &known.outside] != names)
    {
        bail!(
            "{} > {} was set up before: windlass setup --undo first",
            known.inside,
            known.outside
        );
    }
    if !args.lose_addresses {
        refuse_addresses(&[&inside, &outside])?;
    }
    let unbridged = inside.bridge.is_none() && outside.bridge.is_none();
    let mut record = record.unwrap_or_else(|| Record::new(names[0], names[1], unbridged));
    let steps = steps(&[&inside, &outside]);
    let mut lasting = record.clone();
    steps.iter().for_each(|step| lasting.add_step(step));
    let files = files(args, names, &lasting.steps, catalog)?;
    if args.dry_run {
        return show(&steps, &files);
    }
    for step in &steps {
        record.add_step(step);
        record.write(&args.record)?;
        print(&format!("{}: {}\n", step.why, command::line(&step.apply)))?;
        command::output(&step.apply)?;
    }
    let mut changed = !steps.is_empty();
    for file in &files {
        changed |= write(file, &mut record, &args.record)?;
    }
    record.write(&args.record)?;
    // One that runs occupies the interfaces: nothing can be missing.
    let runs = ask(&args.control, Request::Status).is_ok();
    if !runs && !doctor::check(names[0], names[1])? {
        bail!(
            "windlass cannot run here yet: mend what is MISSING above, then run setup again (or --undo it); it was not started"
        );
    }
    start(args, &mut record, changed)
}

/// Once a port of a bridge, an interface answers at no address any more: whoever works over it is cut off.
fn refuse_addresses(interfaces: &[&Interface]) -> Result<()> {
    for i in interfaces.iter().filter(|i| i.bridge.is_none()) {
        let shown = command::output(&[
            "ip", "-j", "address", "show", "dev", &i.name, "scope", "global",
        ])?;
        let shown: Value = serde_json::from_str(&shown).context("`ip -j address show`")?;
        let address = shown[0]["addr_info"][0]["local"].as_str();
        if let Some(address) = address {
            bail!(
                "{0} has the address {address}, which would not answer any more: Windlass makes {0} a port of a bridge. Use an \
                 interface without one, see windlass setup --placement router, or say --lose-addresses",
                i.name
            );
        }
    }
    Ok(())
}

fn files(args: &Args, names: [&str; 2], steps: &[Step], catalog: &Catalog) -> Result<Vec<NewFile>> {
    let before = content(&args.config)?;
    let name = args.config.display().to_string();
    let text = configuration::with_interfaces(before.as_deref(), &name, names, catalog)?;
    let mut files = vec![NewFile {
        path: args.config.clone(),
        text,
    }];
    if service::has_systemd() {
        files.push(NewFile {
            path: service::drop_in_path(),
            text: service::drop_in(names, steps),
        });
        files.extend(service::missing_unit()?.map(|text| NewFile {
            path: service::own_unit(),
            text,
        }));
    }
    Ok(files)
}

/// What would be done.
fn show(steps: &[Step], files: &[NewFile]) -> Result<ExitCode> {
    let mut text = String::new();
    for step in steps {
        text += &format!("# {}\n{}\n", step.why, command::line(&step.apply));
    }
    for file in files {
        if content(&file.path)?.as_ref() != Some(&file.text) {
            text += &format!("cat > {} <<'END'\n{}END\n", file.path.display(), file.text);
        }
    }
    text += match service::has_systemd() {
        true => {
            "systemctl daemon-reload\nsystemctl enable windlass.service\nsystemctl restart windlass.service\n"
        }
        false => "# no systemd runs here: nothing would be started\n",
    };
    print(&text)
}

/// True if the file was not so before.
fn write(file: &NewFile, record: &mut Record, record_file: &Path) -> Result<bool> {
    let before = content(&file.path)?;
    if before.as_ref() == Some(&file.text) {
        return Ok(false);
    }
    record.add_file(&file.path, before, &file.text);
    record.write(record_file)?;
    replace(&file.path, &file.text)?;
    print(&format!("wrote {}\n", file.path.display()))?;
    Ok(true)
}

fn start(args: &Args, record: &mut Record, changed: bool) -> Result<ExitCode> {
    let config = args.config.display();
    if !service::has_systemd() {
        let steps: Vec<String> = record
            .steps
            .iter()
            .map(|step| format!("  {}\n", command::line(&step.apply)))
            .collect();
        let before = match steps.is_empty() {
            true => String::new(),
            false => format!("After each boot, these come first:\n{}", steps.concat()),
        };
        print(&format!(
            "No systemd runs here: windlass was not started, and nothing starts it at boot.\n{before}Start it by hand:\n  \
             windlass run --config {config}\n"
        ))?;
        return print(&next(args)?);
    }
    if record.service.is_none() {
        record.service = Some(service::now());
        record.write(&args.record)?;
    }
    command::output(&["systemctl", "daemon-reload"])?;
    command::output(&["systemctl", "enable", "--quiet", service::SERVICE])?;
    let verb = match (changed, service::now().active) {
        (false, true) => None,
        (true, true) => Some("restart"),
        (_, false) => Some("start"),
    };
    if let Some(verb) = verb {
        command::output(&["systemctl", verb, service::SERVICE])
            .context("the service does not start (journalctl -u windlass says why)")?;
    }
    print(match verb {
        Some(_) => "windlass.service is started, and starts at boot\n",
        None => "windlass.service runs already, and nothing was to be changed\n",
    })?;
    print(&next(args)?)
}

/// How to go on.
fn next(args: &Args) -> Result<String> {
    let config = args.config.display();
    let text = content(&args.config)?.unwrap_or_default();
    let beyond = configuration::beyond_observing(&text);
    let now = match beyond.is_empty() {
        true => "Windlass observes: it measures, and changes nothing.".to_owned(),
        false => format!(
            "Your configuration goes further than observing: {}.",
            beyond.join(", ")
        ),
    };
    Ok(format!(
        "{now}\n\
         1. See what it sees:   windlass flow show; windlass status\n\
         2. See what it would do: mode = \"advise\" under [default] in {config}, then\n   windlass policy apply {config}; windlass flow show\n\
         3. Govern new flows:   mode = \"enforce\" there, then windlass policy apply {config}\n\
         At any time: windlass bypass on (all flows pass untouched), windlass setup --undo (as it was before)\n"
    ))
}
