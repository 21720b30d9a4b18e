# The table of priors from the rows of the experiment "priors":
# awk -F, -f priors.awk rows.csv
# Of each algorithm and size, the mean logarithm of the goodput over all paths, beside that of CUBIC; more
# than a fair share counts as one, and no prior is further from CUBIC than a factor of e.

NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
$column["flow"] != "download" { next }
{
    name = $column["algorithm"]
    size = $column["kb"]
    goodput = $column["goodput_mbit_s"]
    fair = $column["case"] ~ /^beside/ ? 10 : 20
    if (!(name in known)) { order[++names] = name; known[name] = 1 }
    sum[name, size] += log(goodput < fair ? goodput : fair)
    count[name, size]++
}

function prior(name, size,    value) {
    value = sum[name, size] / count[name, size] - sum["cubic", size] / count["cubic", size]
    return value > 1 ? 1 : value < -1 ? -1 : value
}

END {
    print "//! Made by `make priors`: experiments/priors.toml in the simulator."
    print ""
    print "use windlass_auto::CLASSES;"
    print ""
    print "/// By name; small, medium and large transfers."
    print "pub(super) const MEASURED: &[(&str, [f64; CLASSES])] = &["
    for (i = 1; i <= names; i++) {
        name = order[i]
        values = sprintf("%.3f, %.3f, %.3f", prior(name, "50"), prior(name, "1000"), prior(name, "10000"))
        gsub(/-0\.000/, "0.000", values)
        printf "    (\"%s\", [%s]),\n", name, values
    }
    print "];"
}
