#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_alike.sh PROGRAM: with --launches N, the first N launches that are alike are watched, others are known by their
# arguments, and whatever the simulated GPU's log says that a launch accessed is among that. Launches that differ in one
# thing, those in graphs, and those that access more than their arguments say are all watched.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

query() { "$GLINT" query profile "$1" | tail -n +2; }
check() { # WHAT WANTED IS
    [ "$2" = "$3" ] || { printf '%s:\nwanted: %s\nis:     %s\n' "$1" "$2" "$3"; exit 1; }
}

"$GLINT" run --device sim --sim-log log -- "$program" >native
# By launch: the objects of cudaMalloc that it accessed, in the order of allocation.
"$GLINT" sim-log --objects log | awk '/ cudaMalloc / { print $2 }' >objects
"$GLINT" sim-log --summary log | awk '
    NR == FNR { number[$1] = NR; next }
    / global / { for (i = 1; i <= NF; i++) { split($i, pair, "="); value[pair[1]] = pair[2] }
        if (number[value["object"]]) print value["launch"], number[value["object"]] }
' objects - | sort -u >wanted
[ -s wanted ] || { echo "the log shows nothing"; exit 1; }

# What is known of each launch: p by probes, a by arguments, - nothing.
known() {
    query "select name, case known_by when 'probes' then 'p' when 'arguments' then 'a' else '-' end from v_launches
        order by call" | awk '{ if ($1 != last) printf "%s%s ", (NR > 1 ? "\n" : ""), $1; printf "%s", $2; last = $1 }
        END { print "" }'
}

for analyses in objects elements elements,counts values; do
    "$GLINT" record --device sim -q -f -o profile -a "$analyses" --no-cache --launches 2 -- "$program" >recorded ||
        { cat recorded; exit 1; }
    cmp native recorded
    known >is
    diff - is <<'END' || { echo "with $analyses"; exit 1; }
copy ppaaapppppppap-
follow ppppp
beyond ppppp
tagged ppppp
varied ppaaa
END
    check "setting" 2 "$(query "select value from v_settings where name = 'launches'")"
    check "note" 1 "$(query "select count(*) from v_notes where text like
        '--launches 2: 7 launches ran without probes, because others like them had been watched%'")"
    # Replays of the graph are watched.
    check "graph, $analyses" "5 probes" "$(query "select count(distinct a.call), a.known_by from v_accesses a
        where a.node <> 0 and a.call > 0 group by a.known_by" | tr '\t' ' ')"
    # Objects by launch and replay, as the log numbers them.
    query "with numbered as (select number, row_number() over (order by number) as place from v_objects
            where kind = 'device'),
        ordered as (select call, row_number() over (order by call) as launch from
            (select distinct call from v_accesses where call > 0))
        select launch, place from v_accesses a join ordered o on o.call = a.call
        join numbered n on n.number = a.object" | tr '\t' ' ' | sort -u >told
    comm -23 wanted told >missing
    [ ! -s missing ] || { echo "$analyses: accessed, and not told (launch, object):"; cat missing; exit 1; }
done

# Objects that were passed are told to be that, and nothing else: the last launches like the first.
check "what is known" "arguments 1 1,arguments 1 1" "$(query "select a.known_by, read, written from v_accesses a
    join v_launches l on l.call = a.call where l.name = 'copy' and l.known_by = 'arguments'
    and l.call = (select min(call) from v_launches where known_by = 'arguments') order by object" |
    tr '\t' ' ' | paste -sd ,)"
check "the variable" "probes 0 1,probes 0 1,arguments 1 1,arguments 1 1,arguments 1 1" "$(query "select a.known_by, read,
    written from v_accesses a join v_launches l on l.call = a.call join v_objects o on o.number = a.object
    where l.name = 'varied' and o.kind = 'global' order by l.call" | tr '\t' ' ' | paste -sd ,)"
"$GLINT" report profile | grep -q "by arguments: 7" || { "$GLINT" report profile; exit 1; }

# Without the option, and with one that is not reached, all are watched.
for option in "" "--launches 100"; do
    # shellcheck disable=SC2086 # words
    "$GLINT" record --device sim -q -f -o profile -a objects --no-cache $option -- "$program" >recorded
    cmp native recorded
    check "launches by arguments with '$option'" 0 "$(query "select count(*) from v_launches where known_by = 'arguments'")"
    check "notes with '$option'" 0 "$(query "select count(*) from v_notes where text like '--launches%'")"
done
if "$GLINT" record --device sim -f -o profile --launches 0 -- true 2>message; then exit 1; fi
grep -q "takes a number from 1" message
