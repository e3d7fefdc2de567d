#!/bin/sh
# test_nvtx_ranges.sh PROGRAM: with --capture-range nvtx:NAME, launches inside of NVTX ranges of that name are watched,
# and no others. If the vendor's headers are installed, the same program built with them gives the same results.
# GLINT_TEST_VENDOR=no: nothing is built with them. The numbers below are those of nvtx_ranges.c.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NVTX_INJECTION64_PATH

record() { # RANGE PROGRAM [ARGUMENT]
    range=$1
    shift
    "$GLINT" record --device "$device" -f -o "$work/profile" --no-cache --capture-range "$range" -- "$@" >"$work/out" 2>"$work/said"
    echo 'done' | cmp - "$work/out"
}
# Ranges are recorded from the first call of CUDA on, whichever launches are watched. Times are in order.
cat >"$work/ranges" <<'END'
step		1	1	1
inner		1	1	1
step		1	1	1
steps		1	1	1
step		1	1	1
größe		1	1	1
step		0	1	1
step		0	1	1
step		0	1	1
step	mine	1	1	1
step	mine	1	1	1
no	mine	1	1	1
step	mine	0	1	1
step	other	1	1	1
step		1	1	1
a@b		1	1	1
END
records() { # PROGRAM
    "$GLINT" record --device "$device" -f -o "$work/profile" --no-cache -- "$1" >"$work/out" 2>"$work/said"
    "$GLINT" query "$work/profile" 'SELECT name, domain, pushed, thread = end_thread, end_ns >= start_ns FROM v_nvtx_ranges
        ORDER BY number' | tail -n +2 | diff "$work/ranges" -
    "$GLINT" report --format json "$work/profile" | tr -d '\n' | grep -o '"nvtx_ranges": *\[.*"kernels"' |
        grep -o '"name": *"[^"]*"' | sed 's/.*: *//; s/"//g' >"$work/names"
    cut -f 1 "$work/ranges" | diff - "$work/names"
    "$GLINT" query "$work/profile" "SELECT count(*) FROM v_calls c JOIN v_nvtx_ranges r ON r.thread = c.thread AND r.name = 'inner'
        AND c.start_ns BETWEEN r.start_ns AND r.end_ns AND c.kind = 'launch'" | tail -n 1 >"$work/inside"
    echo 1 | diff - "$work/inside"
}
watches() { # RANGE NUMBERS PROGRAM
    record "$1" "$3"
    got=$("$GLINT" query --csv "$work/profile" 'SELECT DISTINCT o.bytes - 1000 FROM v_accesses a
        JOIN v_objects o ON o.number = a.object ORDER BY 1' | tail -n +2 | tr '\n' ' ')
    [ "$got" = "$2" ] || { echo "$1: launches $got were watched, not $2"; exit 1; }
    ! grep 'no launch was watched' "$work/said" || exit 1
    "$GLINT" report --format json "$work/profile" >"$work/json"
    grep -qF "only launches in the range $(printf %s "$1" | sed 's/\\/\\\\/') were watched" "$work/json" || { echo "$1: the report does not say so"; exit 1; }
}
says() { # RANGE TEXT PROGRAM [ARGUMENT]
    range=$1 text=$2
    shift 2
    record "$range" "$@"
    grep -qF "no launch was watched: $text" "$work/said" || { echo "$range: not '$text':"; cat "$work/said"; exit 1; }
    [ "$("$GLINT" query "$work/profile" 'SELECT count(*) FROM v_accesses' | tail -n 1)" = 0 ] || { echo "$range: some was"; exit 1; }
}

check() { # PROGRAM
    records "$1"
    watches nvtx:step '1 2 3 7 8 10 11 13 21 ' "$1"
    watches nvtx:step@mine '15 17 19 ' "$1"
    watches nvtx:step@other '20 ' "$1"
    watches nvtx:inner '2 ' "$1"
    watches nvtx:größe '9 ' "$1"
    watches 'nvtx:a\@b' '22 ' "$1"
    watches 'nvtx:before CUDA' '24 ' "$1"
    says nvtx:a@b "no range named 'a' occurred in domain 'b'" "$1"
    says nvtx:nothing "no range named 'nothing' occurred in the default domain" "$1"
    ! grep 'another domain' "$work/said" || exit 1
    says nvtx:no@other "no range named 'no' occurred in domain 'other'; one occurred in another domain" "$1"
    says nvtx:step "no range named 'step' occurred; the program did not use NVTX" "$1" none
    says nvtx:step "no range named 'step' occurred; the program did not use NVTX, or chose another tool for it" "$1" own
    says profiler 'the program did not call cudaProfilerStart' "$1"
}

check "$1"

# Another tool stays, so there is nothing to watch: this is said before the program runs.
status=0
NVTX_INJECTION64_PATH=/nowhere/other.so "$GLINT" record --device "$device" -f -o "$work/profile" --capture-range nvtx:step -- \
    "$1" >"$work/out" 2>"$work/said" || status=$?
[ "$status" = 125 ] && [ ! -s "$work/out" ] || { echo "another tool: status $status"; exit 1; }
grep -q 'NVTX_INJECTION64_PATH is already set, so glint cannot see ranges' "$work/said"
NVTX_INJECTION64_PATH=/nowhere/other.so "$GLINT" record --device "$device" -f -o "$work/profile" -- "$1" >"$work/out" 2>"$work/said"
grep -q 'NVTX_INJECTION64_PATH is already set: memory' "$work/said"

long=$(printf '%2000s' '' | tr ' ' x)
for bad in nvtx nvtx: nvtx:@ nvtx:@mine nvtx:step@ nvtx:x@"$long" nvtx:"$long" Profiler ''; do
    ! "$GLINT" record --capture-range "$bad" -- "$1" 2>"$work/said" || { echo "'$bad' is taken"; exit 1; }
    grep -qE -- '--capture-range(: the name is longer| takes profiler, nvtx:NAME or nvtx:NAME@DOMAIN)' "$work/said" ||
        { echo "'$bad':"; cat "$work/said"; exit 1; }
done

[ "${GLINT_TEST_VENDOR:-yes}" = yes ] || exit 0
nvcc=$(command -v nvcc) || { echo "by our declarations; there is no nvcc"; exit 0; }
toolkit=$(dirname "$(readlink -f "$nvcc")")/..
[ -f "$toolkit/include/nvtx3/nvToolsExtPayload.h" ] || { echo "by our declarations; there are no headers of NVTX"; exit 0; }
"${CC:-cc}" -std=gnu11 -DWITH_VENDOR_HEADERS -isystem "$toolkit/include" -o "$work/vendor" \
    "$GLINT_SOURCE_DIR/tests/inject/nvtx_ranges.c" -L "$toolkit/lib64/stubs" -lcuda -ldl -lpthread
check "$work/vendor"
echo "by our declarations and by the vendor's headers"
