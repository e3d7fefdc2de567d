. ./sample
"$GLINT" report probes.glint
"$GLINT" report flags.glint
"$GLINT" report --format json probes.glint | sed -e 's/,"calls":\[.*//' -e 's/.*"objects":\[/[/' -e 's/},{/},\n{/g'
