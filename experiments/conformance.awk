# One table of what each algorithm was shown to be: published vectors and laws from the output of
# `cargo test -p windlass-cc`, deviation from the kernel's module from the findings of the experiments.
# awk -v algorithms="reno cubic ..." -f conformance.awk TESTS FINDINGS...

# The value of a finding, where the file at hand has that.
function take(values, finding) {
    if (finding in column) values[name] = field[column[finding]]
}

function done(text) { return text == "" ? "–" : text }

FNR == 1 { file++ }

# The tests: the module is the algorithm, or a part that many share.
file == 1 && /Running / { laws = /tests\/laws/ }
file == 1 && /^test .* \.\.\. (ok|FAILED)$/ {
    good = $NF == "ok"
    if (laws) { laws_all++; laws_good += good; next }
    if ($2 !~ /vectors/) next
    name = $2
    sub(/^algorithms::/, "", name)
    if (!sub(/::.*/, "", name)) { sub(/^vectors_/, "", name); sub(/_.*/, "", name) }
    if (!(name in all)) order[++names] = name
    all[name]++
    passed[name] += good
}

# The findings: the table of numbers, by the names of its columns.
file > 1 && /^## / { numbers = /The numbers behind it/; split("", column) }
file > 1 && numbers && /^\|/ {
    count = split($0, field, / *\| */)
    if (!length(column)) {
        for (i = 2; i < count; i++) column[field[i]] = i
        next
    }
    if (/^\|---/) next
    gsub(/\*/, "")
    split($0, field, / *\| */)
    name = field[2]
    take(own, "different window on the kernel\047s trace")
    take(window, "different window in a separate transfer")
    take(mean, "different mean window in the box")
    take(used, "uses less of the link in the box")
    take(law_used, "uses less of the link")
}

END {
    print "# Conformance\n"
    print "`make conformance` makes this page. The first table has these columns:\n"
    print "* **Vectors** are published figures that the algorithm must meet. Each is a test with `vectors` in its name"
    print "  (`cargo test -p windlass-cc vectors`)."
    print "* **Laws** are properties of all algorithms. The same tests try them for every algorithm"
    print "  (`cargo test -p windlass-cc --test laws`)."
    print "* **Window error** is the mean difference between the window and that of the kernel\047s module. On the kernel\047s trace,"
    print "  Windlass asks the law for its window at exactly the ACKs and losses that the kernel\047s flow has. The limit is 10 where"
    print "  losses or marks drive the algorithm. In a separate transfer, saw-teeth are shifted in time, so that error is only"
    print "  information."
    print "* **The other columns** also compare the algorithm with the kernel\047s module. The sections below say how.\n"
    print "A – means that the kernel has no such module, or that the path was not run.\n"
    print "| | vectors | laws | window error on the kernel\047s trace, % | in a separate transfer, % | mean window in the box ÷ kernel\047s | use of the link in the box − kernel\047s, % | of the law alone |"
    print "|---|---:|---:|---:|---:|---:|---:|---:|"
    law = laws_good " of " laws_all
    count = split(algorithms, known, " ")
    for (i = 1; i <= count; i++) { row(known[i], law); shown[known[i]] }
    # What is left has vectors, and is a part that many algorithms share.
    for (i = 1; i <= names; i++) {
        name = order[i]
        if (!(name in shown)) row(name " (shared)", "–")
    }
    print ""
}

function row(name, law,    key) {
    key = name
    sub(/ \(shared\)/, "", key)
    vectors = key in all ? passed[key] " of " all[key] : "none published"
    print "| " name " | " vectors " | " law " | " done(own[key]) " | " done(window[key]) " | " done(mean[key]) " | " done(used[key]) " | " done(law_used[key]) " |"
}
