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
    take(own, "another window on the kernel\047s own trace")
    take(window, "another window in a transfer of its own")
    take(mean, "another mean window in the box")
    take(used, "uses less of the link in the box")
    take(law_used, "uses less of the link")
}

END {
    print "# Conformance\n"
    print "Made by `make conformance`. Vectors: published figures that the algorithm must meet, each a test with `vectors`"
    print "in its name (`cargo test -p windlass-cc vectors`). Laws: properties that all algorithms are tried for together"
    print "(`cargo test -p windlass-cc --test laws`). The rest is beside the kernel\047s module, as the sections below say;"
    print "– where the kernel has none, or the path was not run.\n"
    print "The window error is how far a window is from the kernel\047s, in the mean: on the kernel\047s own trace, the law"
    print "is asked for its window at the very ACKs and losses that the kernel\047s flow has (at most 10 where losses"
    print "or marks drive the algorithm); in a transfer of its own, saw-teeth are shifted in time, and it is information.\n"
    print "| | vectors | laws | window error on the kernel\047s own trace, % | in a transfer of its own, % | mean window in the box ÷ kernel\047s | use of the link in the box − kernel\047s, % | of the law alone |"
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
