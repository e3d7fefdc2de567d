# A program that does not do the same twice: the differences are told, and what it printed and wrote natively is what stays.
. ./sample
differ() {
    fix -p w.glint "$@" | sed -E 's/from byte [0-9]+ on: .*/from a byte on/; s/^time [0-9.]+/time/'
}
differ --verify -- "$wasteful" time
echo before >out
differ -c out -- "$wasteful" out=out time
sed 's/time .*/time/' out
printf '#!/bin/sh\nmkdir there 2>/dev/null && exec "$wasteful" exit=3\nexec "$wasteful" exit=4\n' >ends
chmod 755 ends
differ --verify -- ./ends
rmdir there
printf '#!/bin/sh\nif mkdir there 2>/dev/null; then :; else echo more; rmdir there; echo gone >file; fi\nexec "$wasteful"\n' >twice
chmod 755 twice
differ -c file -- ./twice
ls
(cd tmp && ls -A)
