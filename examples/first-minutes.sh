#!/bin/sh
# From a fresh installation to an answer over your own notes: sh first-minutes.sh [ORG-FOLDER]
# A test runs this in an empty home.
set -eu

bridle setup --memex "${1:-$HOME/org}" --policy built-in --yes
bridle capture Mend the roof before winter
bridle search 'what did I want to mend before winter?'
bridle agenda --week
bridle ask --session first help
bridle status
bridle log verify
