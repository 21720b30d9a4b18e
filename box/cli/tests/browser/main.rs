//! The page in a real browser, in front of a box with traffic.

mod driver;
#[allow(dead_code)]
#[path = "../netns/mod.rs"]
mod netns;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use driver::Browser;
use netns::{Daemon, Lab, MEGABYTE, PLACE, Transfer, lab};

const ADDRESS: &str = "http://127.0.0.1:9470/";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// W3C WebDriver §17.4.2.
const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
const TAB: &str = "\u{e004}";

/// A box with a page on which bypass can be switched.
fn start(lab: &Lab) -> Daemon {
    let (token, file) = (
        lab.folder.path().join("token"),
        lab.folder.path().join("w.toml"),
    );
    fs::write(&token, TOKEN).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "version = 1\n[web]\nlisten = \"127.0.0.1:9470\"\ntoken_file = \"{}\"\nwrite = true\n[guard]\nfile = \"{}\"\n\
         [[rule]]\nname = \"web\"\nports = [8001, 8002]\nguard = false\n[[rule]]\nname = \"learned\"\nports = [8004]\nalgorithm = \"auto\"\nguard = false\n[[rule]]\nname = \"rest\"\n",
        token.display(),
        lab.folder.path().join("guard.json").display(),
    );
    fs::write(&file, text).unwrap();
    Daemon::start(
        lab,
        &[&PLACE[..], &["--config", file.to_str().unwrap()]].concat(),
    )
}

/// The text of a card.
fn card(title: &str) -> String {
    format!(
        "[...document.querySelectorAll('.card')].find(c => c.innerText.includes('{title}'))?.querySelector('b').innerText"
    )
}

#[test]
fn the_page_shows_a_box_with_traffic() {
    let Some(lab) = lab() else { return };
    let Some(browser) = Browser::start(&lab) else {
        return;
    };
    let daemon = start(&lab);
    let transfers = [8001, 8002, 8003].map(|port| Transfer::start(&lab, port));
    for transfer in &transfers {
        transfer.wait_for(2 * MEGABYTE);
    }
    browser.open(ADDRESS);
    browser.wait_for(
        "the state",
        "document.getElementById('state').innerText.includes('governing')",
    );
    numbers_move(&browser);
    flows_are_listed(&browser);
    a_flow_is_plotted(&browser);
    other_pages_have_something(&browser);
    trials_are_shown(&lab, &browser, &daemon);
    bypass_needs_the_token(&browser, &daemon);
    pictures(&browser);
    assert_eq!(complaints(&browser), Vec::<String>::new());
    for transfer in transfers {
        transfer.finish();
    }
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    browser.wait_for(
        "that it is gone",
        "document.getElementById('state').innerText.includes('not there')",
    );
}

/// Those that the test has not asked for.
fn complaints(browser: &Browser) -> Vec<String> {
    let all = browser.complaints().into_iter();
    let asked_for = ["/api/v1/bypass", "401", "client=nowhere"];
    all.filter(|line| !asked_for.iter().any(|part| line.contains(part)))
        .collect()
}

fn numbers_move(browser: &Browser) {
    let governed = card("governed");
    browser.wait_for("a rate", &format!("({governed} ?? '').includes('Mbit/s')"));
    let mut seen: Vec<Value> = Vec::new();
    for _ in 0..4 {
        seen.push(browser.run(&format!("return {governed};")));
        thread::sleep(Duration::from_millis(1100));
    }
    seen.dedup();
    assert!(seen.len() > 1, "the number stands still: {seen:?}");
    let wire = card("past them");
    browser.wait_for("what passes", &format!("({wire} ?? '').includes('bit/s')"));
    browser.wait_for(
        "the guard",
        "document.body.innerText.includes('nothing to compare yet')",
    );
    browser.wait_for(
        "a worker",
        "document.querySelectorAll('tbody tr').length >= 1",
    );
    is_drawn(browser, 0);
    browser.picture("overview-light");
}

/// Lines are in this plot: its canvas has as many coloured points as a line has.
fn is_drawn(browser: &Browser, number: usize) {
    browser.wait_for(
        "a plot",
        &format!(
            "(() => {{ const c = document.querySelectorAll('canvas')[{number}]; if (!c || !c.width) return false;
              const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;
              for (let i = 0; i < d.length; i += 4)
                if (d[i + 3] > 200 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60) n += 1;
              return n > 100; }})()"
        ),
    );
}

fn flows_are_listed(browser: &Browser) {
    browser.click("nav a[href='#/flows']");
    browser.wait_for(
        "three flows",
        "document.querySelectorAll('.row').length === 3",
    );
    let first = "document.querySelector('.row').innerText";
    browser.click("[data-order=flow]");
    browser.wait_for("by name", &format!("{first}.includes(':8001>') && document.querySelector('[aria-sort=descending] [data-order=flow]')"));
    browser.click("[data-order=flow]");
    browser.wait_for(
        "the other way around",
        &format!("{first}.includes(':8003>')"),
    );
    browser.keys("input[name=rule]", &format!("web{ENTER}"));
    browser.wait_for(
        "two flows",
        "document.querySelectorAll('.row').length === 2",
    );
    browser.keys("input[name=client]", &format!("nowhere{ENTER}"));
    browser.wait_for(
        "a complaint",
        "document.querySelector('main [role=status]').innerText.includes('no address or prefix')",
    );
    browser.run("document.querySelector('input[name=client]').value = '';");
    browser.keys("input[name=client]", &format!("10.77.0.0/24{ENTER}"));
    browser.wait_for(
        "two flows",
        "document.querySelectorAll('.row').length === 2",
    );
    browser.picture("flows-light");
}

/// By the keyboard alone.
fn a_flow_is_plotted(browser: &Browser) {
    browser.keys(".list", DOWN);
    browser.wait_for(
        "the second row",
        "document.querySelector('.row.at').id === 'row-1'",
    );
    browser.keys(".list", ENTER);
    browser.wait_for("the flow", "location.hash.startsWith('#/flow/10.77.0.1')");
    browser.wait_for(
        "four plots",
        "document.querySelectorAll('canvas').length === 4",
    );
    for number in 0..3 {
        is_drawn(browser, number);
    }
    browser.wait_for(
        "its numbers",
        "document.querySelector('dl').innerText.includes('held for repair')",
    );
    browser.wait_for(
        "its phases",
        "document.querySelector('ol').innerText.includes('enforce, bbr')",
    );
    thread::sleep(Duration::from_secs(3));
    browser.picture("flow-light");
}

fn other_pages_have_something(browser: &Browser) {
    for (page, expected) in [
        ("algorithms", "bbr"),
        ("rules", "ports: 8001, 8002"),
        ("guard", "the others compared with them"),
        ("events", "new flows are governed"),
        ("health", "all is as it should be"),
    ] {
        browser.click(&format!("nav a[href='#/{page}']"));
        browser.wait_for(
            page,
            &format!("document.querySelector('main').innerText.includes('{expected}')"),
        );
        browser.picture(&format!("{page}-light"));
    }
    browser.click("nav a[href='#/rules']");
    browser.wait_for("the form", "document.querySelector('input[name=flow]')");
    browser.keys(
        "input[name=flow]",
        &format!("10.0.0.1:443>192.0.2.7:5555{ENTER}"),
    );
    browser.wait_for(
        "an explanation",
        "document.querySelector('main').innerText.includes('It is governed: mode ')",
    );
}

/// What a rule leaves to experience, and a trial that runs.
fn trials_are_shown(lab: &Lab, browser: &Browser, daemon: &Daemon) {
    let says = |what: &str| format!("document.querySelector('main').innerText.includes('{what}')");
    // Without the algorithm for all rules that every box of these tests begins with.
    let file = lab.folder.path().join("w.toml");
    daemon.ask(&["policy", "apply", file.to_str().unwrap()]);
    let learned = Transfer::start(lab, 8004);
    learned.wait_for(MEGABYTE);
    browser.click("nav a[href='#/trials']");
    browser.wait_for("that there is none", &says("No trial runs"));
    browser.wait_for(
        "a flow of the rule",
        "[...document.querySelectorAll('tbody tr')].some(r => r.cells[0].innerText === 'learned' && r.cells[2].innerText !== '0')",
    );
    browser.wait_for("what is believed", &says("anywhere else"));
    daemon.ask(&["trial", "start", "--arms", "bbr,cubic", "--share", "100%"]);
    browser.wait_for("the trial", &says("100.0 % of the new flows of all rules"));
    browser.wait_for("a verdict", &says("not enough data yet"));
    browser.picture("trials-light");
    learned.finish();
}

fn bypass_needs_the_token(browser: &Browser, daemon: &Daemon) {
    let bypass = || daemon.json(&["status", "-j"])["bypass"].clone();
    let asks = "document.getElementById('token').open";
    browser.click("#bypass");
    browser.wait_for("a question for the token", asks);
    browser.click("#token button[value=no]");
    browser.wait_for("no question", &format!("!{asks}"));
    assert_eq!(bypass(), false);
    // Without it, and with another, nothing happens.
    let post = |token: &str| {
        browser.run(&format!(
            "const x = new XMLHttpRequest(); x.open('POST', '/api/v1/bypass', false);
             x.setRequestHeader('Content-Type', 'application/json');
             if ('{token}') x.setRequestHeader('Authorization', 'Bearer {token}');
             x.send('{{\"on\":true}}'); return x.status;"
        ))
    };
    assert_eq!(post(""), 401);
    assert_eq!(post("0123456789abcdef0123456789abcdeF"), 401);
    assert_eq!(bypass(), false);
    browser.click("#bypass");
    browser.wait_for("a question for the token", asks);
    browser.keys("#token-word", TOKEN);
    browser.picture("token-light");
    browser.click("#token button[value=yes]");
    browser.wait_for(
        "bypass",
        "document.getElementById('state').innerText.includes('bypass is on')",
    );
    assert_eq!(bypass(), true);
    browser.wait_for("what to do", "(location.hash = '#/health') && document.querySelector('main').innerText.includes('windlass bypass off')");
    browser.picture("health-bypass-light");
    browser.click("#bypass");
    browser.wait_for(
        "no bypass",
        "!document.getElementById('state').innerText.includes('bypass is on')",
    );
    assert_eq!(bypass(), false);
}

/// Every page in the dark, and on a telephone, where nothing is wider than the screen.
fn pictures(browser: &Browser) {
    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.devtools("Emulation.setEmulatedMedia", dark);
    let telephone = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": false});
    for (name, narrow) in [("dark", false), ("narrow", true)] {
        if narrow {
            browser.devtools("Emulation.setDeviceMetricsOverride", telephone.clone());
            browser.devtools("Emulation.setEmulatedMedia", json!({"features": []}));
        }
        for page in [
            "overview",
            "flows",
            "algorithms",
            "rules",
            "trials",
            "guard",
            "events",
            "health",
        ] {
            browser.run(&format!("location.hash = '#/{page}';"));
            thread::sleep(Duration::from_millis(1500));
            browser.picture(&format!("{page}-{name}"));
            let wide = browser.run("return document.documentElement.scrollWidth - innerWidth;");
            assert!(wide.as_i64().unwrap() <= 0, "{page} is {wide} px too wide");
        }
    }
    // The first Tab leads to the content.
    browser.run("document.activeElement.blur(); document.body.focus();");
    browser.keys("body", TAB);
    let first = browser.run("return document.activeElement.className;");
    assert_eq!(first, "skip");
    browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}));
}
