# If the corrected run, which is the third, differs, the output and files of the native run are kept.
. ./sample
count='n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >n'
printf '#!/bin/sh\n%s; echo run; [ $n = 3 ] && echo wrong; [ $n = 3 ] && echo wrong >out; exec "$wasteful" out=out\n' "$count" >third
printf '#!/bin/sh\n%s; [ $n = 3 ] && echo gone >file; [ $n = 3 ] && exec "$wasteful" exit=4; exec "$wasteful" exit=3\n' "$count" >ends
chmod 755 third ends
echo before >out
fix -p w.glint -c out -- ./third
cat out
rm n
fix -p w.glint -c file -- ./ends
rm n
# A program that prints the time does not count as different for that.
fix -p w.glint -c out -- "$wasteful" out=out time | sed 's/^time .*/time/'
sed 's/^time .*/time/' out
ls
(cd tmp && ls -A)
