# Reads what bench/requests/run asks of a profile, and prints rows of names.awk, and KERNEL and REASON for kernels that
# are not compared.

$1 == "launches" { add(base_name($2), "launches", $3) }
$1 == "reason" { print base_name($2) "\t" $3 }
$1 == "global" {
    add(base_name($2), $3 " requests", $4)
    if ($3 != "atomic")
        add(base_name($2), $3 " sectors", $5)
}
$1 == "shared" && $3 != "atomic" {
    add(base_name($2), $3 " instructions", $4)
    add(base_name($2), $3 " wavefronts", $6)
}

END { print_rows() }
