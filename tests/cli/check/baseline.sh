# Worse than an older profile means a higher peak, new findings, or findings that are worth more. Equal or better
# profiles pass.
. ./sample
"$GLINT" check --baseline old.glint --fail-on 'growth>20%,new,worse' new.glint
echo "status $?"
for rule in growth 'growth>22%' 'growth>4MiB' 'growth>3MiB' 'new>3MiB' 'new>2MiB' 'worse>2MiB' 'worse>1MiB' 'new>1%'; do
    "$GLINT" check -b old.glint --fail-on "$rule" new.glint | head -n 1
done
"$GLINT" check -b old.glint --fail-on growth,new,worse noisy.glint
"$GLINT" check -b new.glint --fail-on growth old.glint
