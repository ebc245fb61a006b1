#!/bin/sh
# Gives metrics.om to a real Prometheus: its lint, its backfill, and queries that must answer what the summary says.
#
#   tests/prometheus/backfill.sh DIRECTORY_OF_SHEDCAST
#
# Debian: apt-get install prometheus. Where it is not there the test is skipped, and said so.
set -eu
checkout="$(cd "$(dirname "$0")/../.." && pwd)"
scenario="$checkout/scenarios/quickstart.toml"
PATH="$(cd "$1" && pwd):$PATH"
export PATH
if ! command -v promtool > /dev/null || ! command -v prometheus > /dev/null; then
  echo "Prometheus: skipped, it is not installed"
  exit 0
fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$work"' EXIT
cd "$work"
shedcast run "$scenario" --metrics --no-charts --quiet --out result

promtool check metrics < result/metrics.om
echo "promtool check metrics: no complaint about $(grep -c '^# TYPE' result/metrics.om) metrics"

promtool tsdb create-blocks-from openmetrics result/metrics.om data > blocks.log
echo "global: {}" > prometheus.yml
port=$((20000 + $$ % 20000))
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --storage.tsdb.retention.time=100y \
  --web.listen-address="127.0.0.1:$port" > prometheus.log 2>&1 &
server=$!
waited=0
until promtool query instant "http://127.0.0.1:$port" 'vector(1)' > /dev/null 2>&1; do
  waited=$((waited + 1))
  if [ "$waited" -gt 60 ]; then cat prometheus.log; exit 1; fi
  sleep 0.5
done

# The value of a query at the end of the run, two minutes after the epoch.
ask() {
  promtool query instant --time=2026-01-01T00:02:00Z "http://127.0.0.1:$port" "$1" | sed -n 's/.*=> \([^ ]*\) @.*/\1/p'
}
# The first number called $1 within the attempts of the whole run.
told() {
  awk -v name="\"$1\":" '/"conservation"/ { inside = 1 } inside && $1 == name { sub(/,$/, "", $2); print $2; exit }' result/summary.json
}
same() {
  if [ -z "$2" ] || [ "$2" != "$3" ]; then
    echo "$1: Prometheus says \`$2\`, the summary \`$3\`"
    exit 1
  fi
  echo "$1: $2, in Prometheus and in the summary"
}
same "refused" "$(ask 'sum(dynamo_frontend_model_rejection_total)')" "$(told refused)"
same "started" "$(ask 'sum(dynamo_frontend_requests_started_total)')" "$(told started)"
same "completed" "$(ask 'sum(dynamo_frontend_requests_total{status="success"})')" "$(told completed)"
same "in flight" "$(ask 'sum(dynamo_frontend_inflight_requests)')" "$(told in_system)"
# The counters begin at 0, so that an increase over the whole run is all of it (Prometheus extrapolates by less than one).
same "increase of refused" "$(ask 'round(sum(increase(dynamo_frontend_model_rejection_total[121s])))')" "$(told refused)"
# A sample a second of two minutes, and one at the start.
same "samples of a gauge" "$(ask 'count_over_time(dynamo_request_queue{worker_id="1"}[121s])')" 121

# The queries of the docs, in the midst of the overload: each has an answer.
sed -n 's/^| [^`]* | `\([^`]*\)`.*|$/\1/p' "$checkout/docs/dashboards.md" > queries
while read -r query; do
  found=$(promtool query instant --time=2026-01-01T00:01:20Z "http://127.0.0.1:$port" "$query")
  if [ -z "$found" ]; then echo "no answer to \`$query\`"; exit 1; fi
done < queries
[ "$(wc -l < queries)" -ge 15 ] || { echo "docs/dashboards.md has lost its queries"; exit 1; }
echo "docs/dashboards.md: $(wc -l < queries) queries answered"
