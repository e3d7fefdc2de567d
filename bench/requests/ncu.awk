# Reads the CSV of `ncu --page raw`, and before it the file whose lines are METRIC and MEASURE (see names.awk). A
# measure with several metrics is their sum. Fails if a metric has no column, or no number. Needs csv.awk.

function fail(why) {
    print "ncu: " why
    failed = 1
    exit 1
}

FNR == NR { metric[$1] = $2 " " $3; next }

# What the program or ncu prints before the table may be anything. The line behind the headings has units.
!columns && /^"ID",/ {
    columns = split_csv($0, heading)
    for (i = 1; i <= columns; i++)
        column[heading[i]] = i
    for (name in metric)
        if (!(name in column))
            fail("no column " name)
    next
}

columns && /^"[0-9]+",/ {
    if (split_csv($0, field) != columns)
        fail("a row has " split_csv($0, field) " columns, not " columns)
    kernel = base_name(field[column["Kernel Name"]])
    add(kernel, "launches", 1)
    for (name in metric) {
        value = field[column[name]]
        gsub(/,/, "", value)
        if (value !~ /^[0-9]+(\.0*)?$/)
            fail(kernel ": " name " is \"" value "\"")
        add(kernel, metric[name], value)
    }
}

END {
    if (failed)
        exit 1
    if (!columns)
        fail("no table")
    print_rows()
}
