# For scripts that read what ncu prints: splits a line of CSV into fields, and returns how many there are.

function split_csv(line, field,    count, value) {
    split("", field)
    while (match(line, /^("([^"]|"")*"|[^,]*)/)) {
        value = substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 1)
        if (value ~ /^"/)
            value = substr(value, 2, length(value) - 2)
        field[++count] = value
        if (line == "")
            break
        line = substr(line, 2)
    }
    return count
}
