# Reads what `glint sim-log --objects --launches --accesses` prints, and finds from the addresses of every warp what its
# requests take. Only the first `limit` launches count.

function value(key,    i) {
    for (i = 2; i <= NF; i++)
        if (index($i, key "=") == 1)
            return substr($i, length(key) + 2)
    return ""
}

# Returns the number that the last three hexadecimal digits make: an address modulo 4096.
function low_digits(text,    i, number) {
    for (i = length(text) - 2; i <= length(text); i++)
        number = number * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return number
}

# Puts the lanes of the mask into lane[], and the offset of each into offset[]. Returns their number.
function read_lanes(    mask, list, i, bit, digit, count, given, step, part) {
    mask = value("mask")
    for (i = 0; i < 8; i++) {
        digit = index("0123456789abcdef", substr(mask, 8 - i, 1)) - 1
        for (bit = 0; bit < 4; bit++) {
            if (digit % 2 == 1)
                lane[++count] = 4 * i + bit
            digit = int(digit / 2)
        }
    }
    list = value("offsets")
    given = split(list, part, ",")
    step = value("step")
    for (i = 1; i <= count; i++)
        offset[i] = given ? part[i] : value("offset") + step * (lane[i] - lane[1])
    return count
}

function sectors(count, bytes, base,    i, s, seen, number) {
    for (i = 1; i <= count; i++)
        for (s = int((base + offset[i]) / 32); s <= int((base + offset[i] + bytes - 1) / 32); s++)
            if (!(s in seen)) {
                seen[s]
                number++
            }
    return number
}

# The most words that a bank delivers to the lanes from `first` to `last`.
function busiest(count, bytes, first, last,    i, word, seen, words, most) {
    for (i = 1; i <= count; i++) {
        if (lane[i] < first || lane[i] > last)
            continue
        for (word = int(offset[i] / 4); word <= int((offset[i] + bytes - 1) / 4); word++)
            if (!(word in seen)) {
                seen[word]
                if (++words[word % 32] > most)
                    most = words[word % 32]
            }
    }
    return most
}

# Whether each lane from `first` to `last` has the address of the lane whose number differs by `bit`, if that one is
# there.
function in_pairs(count, first, last, bit,    i, at, other) {
    for (i = 1; i <= count; i++)
        if (lane[i] >= first && lane[i] <= last)
            at[lane[i]] = offset[i]
    for (i = first; i <= last; i++) {
        other = int(i / bit) % 2 ? i - bit : i + bit
        if ((i in at) && (other in at) && at[i] != at[other])
            return 0
    }
    return 1
}

# Half a warp at a time moves 8 bytes for each lane, and a quarter 16 bytes. A load serves two such parts together if
# that takes one wavefront and lanes have the same addresses in pairs.
function wavefronts(way, count, bytes,    lanes, first, last, total) {
    if (bytes <= 4)
        return busiest(count, bytes, 0, 31)
    lanes = bytes == 8 ? 16 : 8
    for (first = 0; first < 32; first += 2 * lanes) {
        last = first + 2 * lanes - 1
        if (way == "load" && busiest(count, bytes, first, last) == 1 &&
            (in_pairs(count, first, last, 1) || in_pairs(count, first, last, 2)))
            total++
        else
            total += busiest(count, bytes, first, first + lanes - 1) + busiest(count, bytes, first + lanes, last)
    }
    return total
}

$1 == "object" && value("address") != "" { address[$2] = low_digits(value("address")) }

$1 == "launch" && $3 != "ended" && $2 <= limit {
    kernel[$2] = base_name($3)
    add(kernel[$2], "launches", 1)
}

$1 == "access" {
    launch = value("launch")
    way = $6 == "reduction" ? "atomic" : $6
    if (!(launch in kernel) || ($7 != "global" && ($7 != "shared" || way == "atomic")))
        next
    count = read_lanes()
    bytes = value("bytes") + 0
    if ($7 == "shared") {
        add(kernel[launch], way " instructions", 1)
        add(kernel[launch], way " wavefronts", wavefronts(way, count, bytes))
        next
    }
    if ($0 !~ / continued site=/) # which is of the request before it, in another object
        add(kernel[launch], way " requests", 1)
    if (way != "atomic")
        add(kernel[launch], way " sectors", sectors(count, bytes, address[value("object")]))
}

END { print_rows() }
