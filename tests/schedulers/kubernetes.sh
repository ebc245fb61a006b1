#!/bin/sh
# Validates the Kubernetes manifest that `sweep --emit` writes against the schema of its API version, and no field beyond it.
#
#   tests/schedulers/kubernetes.sh DIRECTORY_OF_SHEDCAST
#
# Needs kubernetes-validate, which brings the schemas: pip install kubernetes-validate. Where it is not there the test is skipped, and said so.
set -eu
scenario="$(cd "$(dirname "$0")/../.." && pwd)/scenarios/sweep-threshold.toml"
PATH="$(cd "$1" && pwd):$PATH"
export PATH
if ! command -v kubernetes-validate > /dev/null; then
  echo "Kubernetes: skipped, kubernetes-validate is not installed"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
shedcast sweep "$scenario" --emit kubernetes --shards 4 --jobs 2 --target 'rate_529<=1%' --out 'a place' > job.yaml
kubernetes-validate --strict --no-warn job.yaml

# The check can fail: a count that is a text, a field that does not exist, a policy that is a number.
refuse() {
  sed "$1" job.yaml > bad.yaml
  if cmp -s job.yaml bad.yaml || kubernetes-validate --strict --no-warn bad.yaml > bad.log 2>&1; then
    echo "Kubernetes: \`$1\` should have made the manifest invalid"
    exit 1
  fi
}
refuse 's/completions: 4/completions: "four"/'
refuse 's/parallelism:/parallelity:/'
refuse 's/restartPolicy: Never/restartPolicy: 1/'
echo "Kubernetes: the manifest is valid, and spoilt ones are not"
