//! The algorithms, one file each. To add one, write its file, and add two lines here: one to the modules, and one to the table.

pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod bic;
pub(crate) mod compound;
pub(crate) mod copa;
pub(crate) mod cubic;
pub(crate) mod dctcp;
pub(crate) mod fast;
pub(crate) mod highspeed;
pub(crate) mod htcp;
pub(crate) mod hybla;
pub(crate) mod illinois;
pub(crate) mod ledbat;
pub(crate) mod mystique_bbr;
pub(crate) mod prague;
pub(crate) mod reno;
pub(crate) mod scalable;
pub(crate) mod sourdough;
pub(crate) mod vegas;
pub(crate) mod veno;
pub(crate) mod westwood;
pub(crate) mod yeah;

/// The table: module, type and Linux name. Everything else follows from it.
macro_rules! with_algorithms {
    ($then:ident) => {
        $then! {
            reno::Reno = "reno";
            cubic::Cubic = "cubic";
            bbr::Bbr = "bbr";
            bbr3::Bbr3 = "bbr3";
            dctcp::Dctcp = "dctcp";
            prague::Prague = "prague";
            highspeed::HighSpeed = "highspeed";
            scalable::Scalable = "scalable";
            hybla::Hybla = "hybla";
            illinois::Illinois = "illinois";
            compound::Compound = "compound";
            vegas::Vegas = "vegas";
            westwood::Westwood = "westwood";
            htcp::Htcp = "htcp";
            yeah::Yeah = "yeah";
            veno::Veno = "veno";
            bic::Bic = "bic";
            fast::Fast = "fast";
            copa::Copa = "copa";
            ledbat::Ledbat = "ledbat";
            mystique_bbr::MystiqueBbr = "mystique_bbr";
            sourdough::Sourdough = "sourdough";
        }
    };
}

macro_rules! reexport {
    ($($module:ident::$algorithm:ident = $name:literal;)+) => {
        $(pub use $module::$algorithm;)+
    };
}

with_algorithms!(reexport);
