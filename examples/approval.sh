#!/bin/sh
# A question that survives `kill -9`: asked in one shell, answered from another after the crash, done
# once. Plays in a folder of its own and removes it.
#
#   examples/approval.sh              with `bridle` on the path, or BRIDLE=target/debug/bridle
set -eu

bridle=${BRIDLE:-bridle}
here=$(cd "$(dirname "$0")" && pwd)
home=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || :; rm -rf "$home"' EXIT
export HOME="$home" BRIDLE_ADDR="unix:$home/b.sock"
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR

up() {
    "$bridle" up --tcp off --http off --unix "$home/b.sock" --log error \
        --thinker "script:$here/deploy.script" >/dev/null &
    daemon=$!
    "$bridle" health --wait 20 >/dev/null
}

# The value of a key in what was printed last.
value() { printf '%s\n' "$1" | sed -n "s/.*$2 \"\\([^\"]*\\)\".*/\\1/p"; }

say() { "$bridle" send "(:type :EVENT :payload (:sensor :user-prompt :text \"$1\"))"; }

up
echo "# something is said that somebody will want to forget"
said=$(say "deploy")
echo "$said"
secret=$(value "$said" :session)

echo "# the thinker wants to destroy it; that needs a yes"
asked=$(say "clean up $secret")
echo "$asked"
question=$(value "$asked" :approval)

echo "# kill -9"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || :

up
echo "# the question is still there, for any shell"
"$bridle" approvals
echo "# yes"
"$bridle" approve "$question"
echo "# a second yes counts for nothing"
"$bridle" approve "$question" || :
echo "# it was done, once"
# A yes is answered when it is recorded; what it allows begins after that.
tries=0
until "$bridle" effects | grep -q outcome || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
"$bridle" effects
"$bridle" log verify
