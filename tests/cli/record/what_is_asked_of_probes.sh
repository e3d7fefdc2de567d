# Options become the variables from which libglint.so reads them, and set no others.
. ./busy
asked() { "$GLINT" record "$@" -- sh -c 'echo "${GLINT_PROBES-?} ${GLINT_KERNELS-?} ${GLINT_SAMPLE-?} ${GLINT_MAX_SHADOW-?} ${GLINT_MAPS-?}"' 2>/dev/null; }
asked
export GLINT_PROBES=99 GLINT_KERNELS=x GLINT_SAMPLE=3 GLINT_MAX_SHADOW=4 GLINT_MAPS=1
asked
for list in none sync objects elements counts values requests shared cache values,requests requests,shared values,elements objects,sync sync,counts counts,objects,objects all elements,all; do
    printf '%s: ' "$list"
    asked --analyses "$list"
done
asked -a all -k '^(a|b) c+$' -s 10 --max-shadow 512M --maps
asked --max-shadow 1000000
asked --max-shadow 2K --sample 4294967295
asked --max-shadow 16777215T
cached() { "$GLINT" record "$@" -- sh -c 'echo "$GLINT_CACHE"' 2>/dev/null | sed "s|$(pwd -P)|HERE|"; }
HOME=/home/me XDG_CACHE_HOME=/caches cached
HOME=/home/me XDG_CACHE_HOME=relative cached
(unset XDG_CACHE_HOME && HOME=/home/me cached)
(unset XDG_CACHE_HOME HOME && cached)
cached --cache modules
cached --cache modules --no-cache
cached --no-cache --cache modules
ls
echo what profiles keep of it
"$GLINT" record -q -o p.glint --device sim -a counts -k add --sample 10 --max-shadow 1G --maps -- "$busy" 1
"$GLINT" query p.glint "select * from v_settings order by name"
"$GLINT" record -q -f -o p.glint --device sim -- "$busy" 1
"$GLINT" query p.glint "select * from v_settings order by name"
