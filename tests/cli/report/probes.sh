. ./sample
"$GLINT" report --verbose probes.glint
"$GLINT" report --verbose flags.glint
"$GLINT" report --format json probes.glint | sed -e 's/,"calls":\[.*//' -e 's/.*"objects":\[/[/' -e 's/},{/},\n{/g'
