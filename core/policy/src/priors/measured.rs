//! Made by `make priors`: experiments/priors.toml in the simulator.

use windlass_auto::CLASSES;

/// By name; small, medium and large transfers.
pub(super) const MEASURED: &[(&str, [f64; CLASSES])] = &[
    ("reno", [0.012, -0.028, -0.229]),
    ("cubic", [0.000, 0.000, 0.000]),
    ("bbr", [0.000, 0.289, 0.730]),
    ("bbr3", [0.024, 0.223, 0.571]),
    ("mystique_bbr", [-0.130, 0.119, 0.683]),
    ("bic", [-0.014, 0.103, 0.134]),
    ("highspeed", [-0.011, -0.066, -0.163]),
    ("scalable", [-0.005, 0.219, 0.251]),
    ("htcp", [0.005, 0.019, 0.000]),
    ("hybla", [0.015, 0.121, 0.310]),
    ("westwood", [0.012, -0.296, -0.410]),
    ("illinois", [-0.027, 0.112, 0.229]),
    ("compound", [-0.022, 0.021, -0.200]),
    ("yeah", [0.000, 0.159, 0.221]),
    ("veno", [0.012, 0.071, -0.037]),
    ("vegas", [-0.015, -0.150, -0.559]),
    ("fast", [-0.011, 0.056, -0.334]),
    ("copa", [0.020, 0.019, 0.295]),
    ("ledbat", [0.014, -0.002, -0.284]),
    ("dctcp", [-0.011, 0.015, -0.204]),
    ("prague", [-0.021, 0.102, -0.171]),
];
