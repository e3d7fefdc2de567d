# Reads the CSV of `ncu --page raw`, and prints a line for each launch, separated by tabs: its number, the kernel's name,
# and the metrics of the variable `metrics`, which commas separate. Needs names.awk and csv.awk of bench/requests.

# What the program or ncu prints before the table may be anything. The line behind the headings has units.
!columns && /^"ID",/ {
    columns = split_csv($0, heading)
    for (i = 1; i <= columns; i++)
        column[heading[i]] = i
    count = split(metrics, metric, ",")
    for (i = 1; i <= count; i++)
        if (!(metric[i] in column)) {
            print "ncu: no column " metric[i]
            failed = 1
            exit 1
        }
    next
}

columns && /^"[0-9]+",/ {
    split_csv($0, field)
    row = ++launches "\t" base_name(field[column["Kernel Name"]])
    for (i = 1; i <= count; i++) {
        value = field[column[metric[i]]]
        gsub(/,/, "", value)
        row = row "\t" value
    }
    print row
}

END {
    if (!failed && !columns) {
        print "ncu: no table"
        exit 1
    }
    exit failed
}
