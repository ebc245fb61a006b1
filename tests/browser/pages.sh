#!/usr/bin/env bash
# Opens the report pages of example scenarios in headless Chromium at 1280 and 390 px, light and dark: no message on the console,
# nothing asked of the network, nothing wider than the window, every chart drawn, readable and with its numbers behind it.
#
# usage: pages.sh [DIRECTORY [PICTURES]]
# DIRECTORY holds the program shedcast (default: target/debug), PICTURES a directory for screenshots, to be looked at.
# Debian: apt-get install chromium fonts-dejavu-core. Where there is no Chromium the check is skipped, and says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=${1:-target/debug}/shedcast
pictures=${2:--}

find_chromium() {
  local name
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    [ -n "$name" ] && command -v "$name" && return 0
  done
  return 1
}

if ! chromium=$(find_chromium); then
  echo "skipped: no Chromium (install it, or name it in CHROMIUM)"
  exit 0
fi
if ! command -v python3 >/dev/null; then
  echo "skipped: no python3, which drives the browser"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in quickstart worker-cap ranks metastable replay-trace; do
  "$program" run "scenarios/$name.toml" --out "$folder/$name" --quiet
done
# A sweep each over one, two and three axes; whether its targets are met does not matter here.
sweep() {
  local out=$1
  shift
  "$program" sweep "$@" --out "$folder/$out" --quiet 2>/dev/null || [ $? -eq 1 ]
}
threshold=frontend.active_decode_blocks_threshold=0.6,0.8,0.95
short=(scenarios/quickstart.toml --set horizon=35s)
sweep one-axis "${short[@]}" --grid "$threshold" --replications 2 --target 'rate_529<=1%'
sweep two-axes "${short[@]}" --grid "$threshold" --grid fleet.workers=3,4,5 --replications 1 --target 'rate_529<=1%'
sweep three-axes "${short[@]}" --grid "$threshold" --grid fleet.workers=3,5 --grid fleet.request_queue_limit=4,16 --replications 1
# What it answers does not matter either, so it may be short.
"$program" plan scenarios/plan-workers.toml --run-length 21s --max-runs 6 --out "$folder/plan" --quiet || [ $? -eq 1 ]
python3 tests/browser/pages.py "$chromium" "$pictures" "$folder"/*/report.html
