# What caches of other sizes would serve, from reuse distances; and what is no size.
. ./sample
"$tests/report/write_caches" caches.glint || exit 1
"$GLINT" report --what-if l1=512K,l2=1G caches.glint | sed -n '/^What if/,/^Next/p'
echo "== L1 alone, and what holds a line"
"$GLINT" report --what-if l1=128 --kernel stencil caches.glint | sed -n '/^What if/,/^Next/p'
echo "== L2 alone, of today's size"
"$GLINT" report --what-if l2=62914560 --kernel product caches.glint | sed -n '/^What if/,/^Next/p'
echo "== nothing is known"
"$GLINT" report --what-if l1=512K timeline.glint 2>&1
echo "status $?"
for sizes in l1 l1= l1=127 l3=5M l1=4K,l1=8K l1=4X l1=-4K l1=4KM l1=4K, '' l1=99999999999999999999 l2=17179869184G; do
    "$GLINT" report --what-if "$sizes" caches.glint 2>&1
    echo "status $?"
done
