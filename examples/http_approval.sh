#!/bin/sh
# Asked over HTTP, answered over HTTP: a device gets a question as a directive and brings its user's
# yes back with the continuation. Plays in a folder of its own and removes it.
#
#   examples/http_approval.sh         with `bridle` on the path, or BRIDLE=target/debug/bridle
set -eu

bridle=${BRIDLE:-bridle}
here=$(cd "$(dirname "$0")" && pwd)
home=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || :; rm -rf "$home"' EXIT
export HOME="$home"
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR

# A token for a device that may talk and approve.
token=$("$bridle" token create --scope talk --scope approve)
"$bridle" up --tcp off --unix "$home/b.sock" --http 127.0.0.1:0 --log error \
    --thinker "script:$here/deploy.script" >"$home/ready" &
daemon=$!
tries=0
until grep -q ready "$home/ready"; do [ $((tries += 1)) -le 200 ]; sleep 0.1; done
url=http://$(sed -n 's/.*http=\([^ ]*\).*/\1/p' "$home/ready")/v1/openharness

# ask ID SESSION CONTEXT
ask() {
    curl -s "$url" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{
        "protocol_version": "1.0.0", "request_id": "'"$1"'",
        "capabilities": {"openharness.ui.approval": true, "dev.bridle.feedback": {"version": 1}},
        "request": {"context": {"session_id": "'"$2"'", '"$3"'}}}'
}

# The value of a key in what was answered, the first one.
value() { printf '%s\n' "$1" | sed "s/\"$2\":\"/\\n&/" | sed -n "s/^\"$2\":\"\\([^\"]*\\)\".*/\\1/p"; }

echo "# something is said that somebody will want to forget"
ask r1 old '"user_intent": "hello"'

echo "# the thinker wants to destroy it; that needs a yes"
asked=$(ask r2 work '"user_intent": "clean up old"')
echo "$asked"

echo "# yes"
yes='"continuation": {"continuation_token": "'$(value "$asked" continuation_token)'"},
    "extensions": {"dev.bridle": {"directive_results": [
        {"directive_id": "'$(value "$asked" directive_id)'", "outcome": "completed",
         "decision": {"by": "user", "option_id": "allow_once"}}]}}'
ask r3 work "$yes"

echo "# the same yes under another name: it was used"
ask r4 work "$yes"

echo "# it was done, once"
"$bridle" effects
