# A percentage in a rule is that of the report: of the peak, of the run time, or of the waits if times are not real.
. ../report/sample
"$tests/report/write_waits" waits.glint && "$tests/report/write_waits" sim.glint simulated || exit 1
for profile in waits sim; do
    for share in $("$GLINT" report --verbose $profile.glint | sed -n 's/^ *gain: .*(\([0-9.]*\)%).*/\1/p' | sort -rn | head -n 1); do
        echo "$profile: $share%"
        for limit in "$(echo "$share" | awk '{ print $1 - 0.1 }')" "$(echo "$share" | awk '{ print $1 + 0.1 }')"; do
            "$GLINT" check --fail-on "any>$limit%" $profile.glint | head -n 1
        done
    done
done
