#!/bin/sh
# Runs a command beside a Slurm of one node that lives as long as the command: its own munge, controller and node daemon, in a
# directory of their own. Where Slurm is not installed, or cannot be started, the command runs without it.
#
#   tests/schedulers/with-slurm.sh COMMAND...
#
# Debian: apt-get install slurm-wlm; needs root, as the daemons do.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
if ! command -v slurmctld > /dev/null || ! command -v munged > /dev/null || [ "$(id -u)" != 0 ]; then
  exec "$@"
fi
dir=$(mktemp -d)
mkdir "$dir/state" "$dir/spool" "$dir/munge"
chmod 700 "$dir/munge"
pids=
stop() {
  for pid in $pids; do kill "$pid" 2> /dev/null || true; done
  for pid in $pids; do wait "$pid" 2> /dev/null || true; done
  rm -rf "$dir"
}
trap stop EXIT
head -c 1024 /dev/urandom > "$dir/munge/key"
chmod 600 "$dir/munge/key"
host=$(hostname -s)
first=$((30000 + $$ % 10000))
sed -e "s|@HOST@|$host|g; s|@DIR@|$dir|g" "$here/slurm.conf.in" > "$dir/slurm.conf"
printf 'AuthInfo=socket=%s\nSlurmctldPort=%s\nSlurmdPort=%s\n' "$dir/munge/socket" "$first" "$((first + 1))" >> "$dir/slurm.conf"
SLURM_CONF="$dir/slurm.conf"
export SLURM_CONF
munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
  --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" > "$dir/munged.log" 2>&1 &
pids="$! $pids"
waited=0
until [ -S "$dir/munge/socket" ] || [ "$waited" -gt 50 ]; do waited=$((waited + 1)); sleep 0.1; done
slurmctld -D > "$dir/slurmctld.log" 2>&1 &
pids="$! $pids"
slurmd -D -N "$host" > "$dir/slurmd.log" 2>&1 &
pids="$! $pids"
waited=0
until sinfo --noheader --states=idle 2> /dev/null | grep -q .; do
  waited=$((waited + 1))
  if [ "$waited" -gt 100 ]; then
    echo "Slurm: it does not start"
    tail -n 5 "$dir"/munged.log "$dir"/slurmctld.log "$dir"/slurmd.log
    # An empty configuration hides it from the command.
    SLURM_CONF=/dev/null
    break
  fi
  sleep 0.2
done
"$@"
