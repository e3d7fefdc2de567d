#!/bin/sh
# test_sampled.sh PROGRAM LIBRARY: with a stand-in for the Sanitizer API, sampled launches on the simulated GPU are seen to
# read and write what its log says, and all others are known as before. What must not be sampled is not, and whatever
# fails, the program runs its own kernels.
set -eu
program=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo "the stand-in has its own" >code
export GLINT_SAMPLED_PATCH="$work/code"

record() { # WHAT OPTION...: records the program, which must not notice
    what=$1
    shift
    "$GLINT" record --device sim -q -f -o profile -a objects --no-cache --no-probes . "$@" -- "$program" $what >recorded ||
        { cat recorded; exit 1; }
    cmp native recorded
}
query() { "$GLINT" query profile "$1" | tail -n +2; }
notes() { query "select text from v_notes where text like '%sampled%'"; }

"$GLINT" run --device sim --sim-log log -- "$program" >native

# What launches accessed by the log: number of the launch, of the object in the order of allocation, and how.
"$GLINT" sim-log --objects log | awk '/ cudaMalloc / { print $2 }' >objects
"$GLINT" sim-log --summary log | awk '
    NR == FNR { number[$1] = NR; next }
    / global / { for (i = 1; i <= NF; i++) { split($i, pair, "="); value[pair[1]] = pair[2] }
        if (number[value["object"]])
            print value["launch"], number[value["object"]], (value["bytes_read"] > 0) + 0, (value["bytes_written"] > 0) + 0 }
' objects - | sort >wanted
[ -s wanted ] || { echo "the log shows nothing"; exit 1; }

GLINT_SANITIZER=$library GLINT_SAMPLED_BUDGET=100 record "" --sample-native 3
[ -z "$(notes)" ] || { notes; exit 1; }
query "select name, known_by from v_launches order by call" >known
diff - known <<'END'
copy	sampled
copy	arguments
copy	arguments
copy	sampled
copy	arguments
copy	arguments
copy	sampled
count	sampled
reduce	sampled
write	sampled
generic	sampled
wide	sampled
nothing	sampled
shared	sampled
ncclDevKernel_Wait	arguments
follow	sampled
many	arguments
many	sampled
together	arguments
step	arguments
step	arguments
scaled	arguments
captured	
crowd	arguments
crowd	arguments
crowd	sampled
END
# rows KNOWN_BY...: what the profile has of launches and objects, numbered as in the log.
rows() {
    query "with numbered as (select number, row_number() over (order by number) as place from v_objects where kind = 'device'),
        ordered as (select call, known_by, row_number() over (order by call) as launch from v_launches)
        select launch, place, read, written from v_accesses a join ordered o on o.call = a.call
        join numbered n on n.number = a.object where o.known_by = 'sampled' and a.known_by in ($1)" | tr '\t' ' ' | sort
}
query "select row_number() over (order by call), known_by from v_launches" | awk '$2 == "sampled" { print $1 }' >sampled
awk 'NR == FNR { sampled[$1] = 1; next } sampled[$1]' sampled wanted >wanted_sampled
rows "'sampled'" | diff wanted_sampled -
[ "$(wc -l <wanted_sampled)" -ge 15 ] || { echo "few accesses are compared"; exit 1; }


# Objects that a sampled launch was passed and did not touch are still known by the arguments; in JSON, too.
check() { # WHAT WANTED IS
    [ "$2" = "$3" ] || { printf '%s:\nwanted: %s\nis:     %s\n' "$1" "$2" "$3"; exit 1; }
}
check idle "arguments 1 1" "$(query "select a.known_by, read, written from v_accesses a join v_launches l on l.call = a.call
    where l.name = 'nothing'" | tr '\t' ' ')"
check copied "sampled 1 0,sampled 0 1,arguments 1 1" "$(query "select known_by, read, written from v_accesses
    where call = (select min(call) from v_launches) order by object" | tr '\t' ' ' | paste -sd ,)"
check followed "sampled 1 0,sampled 0 1" "$(query "select a.known_by, read, written from v_accesses a
    join v_launches l on l.call = a.call where l.name = 'follow' order by object" | tr '\t' ' ' | paste -sd ,)"
check JSON "$(query "select count(*) from v_accesses where known_by = 'sampled'")" \
    "$("$GLINT" report --format json profile | grep -o '"written":[a-z]*,[^{}]*"known_by":"sampled"' | wc -l)"
check stray 0 "$(query "select count(*) from v_notes where text like '%no known object%'")"

# Without a budget for it, one launch is sampled, and no other before its cost has been earned.
GLINT_SANITIZER=$library GLINT_SAMPLED_BUDGET=1 record "" --sample-native 1
[ "$(query "select count(*) from v_launches where known_by = 'sampled'")" -ge 1 ]

# Two threads that sample one kernel.
"$GLINT" run --device sim -- "$program" threads >native
check threads "0 wrong" "$(cat native)"
GLINT_SANITIZER=$library GLINT_SAMPLED_BUDGET=100 record threads --sample-native 2
[ "$(query "select count(*) from v_launches where known_by = 'sampled'")" -ge 2 ]
check "what threads do" "sampled 1 1" "$(query "select distinct known_by, read, written from v_accesses
    where known_by = 'sampled'" | tr '\t' ' ')"

# Whatever fails, nothing is sampled, the program runs as it is, and a note says why.
"$GLINT" run --device sim -- "$program" >native
refused() { # NOTE: of a recording without sampled launches
    check "$1" 0 "$(query "select count(*) from v_launches where known_by = 'sampled'")"
    notes | grep -q "$1" || { echo "there is no note: $1"; notes; exit 1; }
    check "notes: $1" 1 "$(notes | wc -l)"
}
export GLINT_SAMPLED_BUDGET=100
for word in subscribe add instructions module data; do
    FAKE_SANITIZER=$word GLINT_SANITIZER=$library record "" --sample-native 1
    case $word in
    subscribe) refused "sanitizerSubscribe returns 6" ;;
    add) refused "does not accept glint's patch" ;;
    instructions) refused "no code for this GPU" ;;
    module) refused "does not patch a module" ;;
    data) refused "does not take data" ;;
    esac
done
record "" --sample-native 1
refused "the simulated GPU has no Sanitizer API"
GLINT_SANITIZER=$work/none record "" --sample-native 1
refused "cannot be loaded"
CUDA_INJECTION64_PATH=$work/none GLINT_SANITIZER=$library record "" --sample-native 1
refused "another tool follows CUDA in this process (CUDA_INJECTION64_PATH)"
cp "$library" libnvperf_host.so
LD_PRELOAD=$work/libnvperf_host.so GLINT_SANITIZER=$library record "" --sample-native 1
refused "(libnvperf_host.so)"
GLINT_SANITIZER=$library record "" --sample-native 1 --gpu-times off
refused "unknown without GPU times"
GLINT_SANITIZER=$library record "" # the option is not given
check "without the option" 0 "$(query "select count(*) from v_launches where known_by = 'sampled'")"
check "notes without the option" "" "$(notes)"

# The command line says what is missing at once.
if GLINT_SAMPLED_PATCH=$work/none "$GLINT" record --device sim -q -f -o profile --sample-native 1 -- true 2>message; then :; fi
grep -q "built without nvcc" message
if "$GLINT" record --device sim -f -o profile -a none --sample-native 1 -- true 2>message; then exit 1; fi
grep -q "needs an analysis" message
if "$GLINT" record --device sim -f -o profile --sample-native 0 -- true 2>message; then exit 1; fi
grep -q "takes a number from 1" message
