//! Checks that compare contestants with others.

use super::*;

/// The best of several may be another one in each cell: medians are 3 and 20 of native, 2 and 8 of
/// boxed.
#[test]
fn a_check_may_compare_with_the_best_of_several() {
    let of = |more: &str| {
        let text = format!("[[check]]\nname = \"c\"\nto = [\"native\", \"boxed\"]\n{more}");
        let verdict = only_verdict(&text);
        (verdict.value, verdict.pass)
    };
    assert_eq!(of("of = \"native\"\nat_most = 2.5\n"), (Some(2.5), true));
    assert_eq!(of("of = \"boxed\"\nat_most = 1\n"), (Some(1.0), true));
    let goodput = "of = \"native\"\nmetric = \"goodput_mbit_s\"\nat_least = 1\n";
    let (value, pass) = of(goodput);
    assert!(
        value.is_some_and(|v| v < 1.0) && !pass,
        "more is better there"
    );
}

#[test]
fn a_check_may_compare_with_the_worst_of_several() {
    let of = |more: &str| {
        let text =
            format!("[[check]]\nname = \"c\"\nto_worst_of = [\"native\", \"boxed\"]\n{more}");
        let verdict = only_verdict(&text);
        (verdict.value, verdict.pass)
    };
    let boxed = "of = \"boxed\"\nat_most = 0.5\n";
    assert_eq!(of(boxed), (Some(2.0 / 3.0), false));
    let goodput = "of = \"native\"\nmetric = \"goodput_mbit_s\"\nat_least = 1\n";
    assert_eq!(of(goodput), (Some(1.0), true), "it is the worst itself");
}

/// What a path that loses costs, beside another contestant on one that does not: 8 beside 3.
#[test]
fn a_check_may_compare_with_another_cell() {
    let of = |more: &str| {
        let text = format!(
            "[[check]]\nname = \"c\"\nof = \"boxed\"\nto = \"native\"\nto_where = {{ loss_percent = 0 }}\nat_most = 2\n{more}"
        );
        let verdict = only_verdict(&text);
        (verdict.value, verdict.worst)
    };
    let (value, worst) = of("where = { loss_percent = 1 }\n");
    assert_eq!(value, Some(8.0 / 3.0));
    assert_eq!(worst.as_deref(), Some("boxed at loss_percent 1: 2.667"));
    let (value, _) = of("over = \"min\"\n");
    assert_eq!(value, Some(2.0 / 3.0), "the cell itself is one of them");
}
