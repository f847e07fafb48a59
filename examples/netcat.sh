#!/bin/sh
# A conversation with bridle from the shell: netcat.sh [PORT [FORM...]]
#
# A frame is six hex digits that count the bytes of what follows, and one S-expression. The daemon says hello first,
# then gives one answer for each frame. Needs an nc that can end its sending side (-N of OpenBSD's netcat).
set -eu
LC_ALL=C
port=${1:-9105}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- '(:type :health-check)'

for form in "$@"; do
    printf '%06x%s' "${#form}" "$form"
done | nc -N -w 60 127.0.0.1 "$port"
echo
