# A value above the limit breaks a rule; a value at the limit does not.
. ./sample
for rule in 'any>2999999B' 'any>3MiB' 'any>13.6%' 'any>13.7%' 'early-allocation>2.5MiB' 'late-deallocation>1B' 'any>1ns' \
    'peak>22MiB' 'peak>21.999MiB' 'traffic>12MiB' 'traffic>11.999MiB' 'any>200us' 'any>199us' 'dead-write>199us'; do
    "$GLINT" check --fail-on "$rule" new.glint >out
    echo "status $?: $(head -n 1 out)"
    sed -n -e 3p out
done
