#!/bin/sh
# Runs a sweep in shards through GNU parallel and Slurm, as `sweep --emit` writes their job files, and compares every byte
# of the merged result with that of the unsharded sweep. A scheduler that is not there is skipped, and said so.
#
#   tests/schedulers/shards.sh DIRECTORY_OF_SHEDCAST
#
# Debian: apt-get install parallel slurm-wlm; Slurm needs one node that is up (`sinfo` lists it).
set -eu
PATH="$(cd "$1" && pwd):$PATH"
export PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > small.toml <<'TOML'
name = "small"
horizon = "20s"
[fleet]
workers = 2
service_time = { distribution = "exponential", mean = "100ms" }
engine_request_limit = 4
request_queue_limit = 2
[workload]
arrivals = { process = "poisson", rate = 60 }
input_tokens = 100
output_tokens = 10
[sweep.grid]
workload.arrivals.rate = [20, 40, 60, 80]
fleet.request_queue_limit = [2, 4]
TOML
shedcast sweep small.toml --quiet --out whole

compare() {
  # What belongs to the shards lies in directories of their own.
  rm -rf "$1"/shard-*
  diff -r whole "$1"
  echo "$2: the merged bytes are those of the unsharded sweep"
}

if command -v parallel > /dev/null; then
  shedcast sweep small.toml --emit parallel --shards 3 --jobs 1 --out by-parallel > parallel.sh
  sh parallel.sh > parallel.log 2>&1 || { cat parallel.log; exit 1; }
  compare by-parallel "GNU parallel"
else
  echo "GNU parallel: skipped, it is not installed"
fi

if command -v sbatch > /dev/null && sinfo --noheader 2> /dev/null | grep -q .; then
  shedcast sweep small.toml --emit slurm --shards 3 --jobs 1 --out by-slurm > slurm.sh
  sbatch slurm.sh
  waited=0
  until [ -f by-slurm/sweep.json ]; do
    waited=$((waited + 1))
    if [ "$waited" -gt 300 ]; then squeue; cat slurm-*.out; exit 1; fi
    sleep 1
  done
  compare by-slurm "Slurm"
else
  echo "Slurm: skipped, there is no sbatch or no node"
fi
