//! Job files that run a sweep in shards: Slurm, Kubernetes Indexed Jobs, GNU parallel.

/// Who runs the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A Slurm batch script with an array and a merge step that depends on it.
    Slurm,
    /// A Kubernetes Indexed Job and a Job that merges.
    Kubernetes,
    /// A shell script for GNU parallel.
    Parallel,
}

/// What the job file needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Name of the sweep.
    pub name: String,
    /// The command without `--shard`, `--jobs` and `--out`, word by word: `shedcast`, `sweep`, file, options.
    pub command: Vec<String>,
    /// Shards.
    pub shards: usize,
    /// Runs at a time within a shard.
    pub jobs: usize,
    /// Directory of the whole result; shards go into `shard-<n>` below it.
    pub out: String,
}

/// The text of the job file.
pub fn emit(kind: Emit, file: &JobFile) -> String {
    match kind {
        Emit::Slurm => slurm(file),
        Emit::Kubernetes => kubernetes(file),
        Emit::Parallel => parallel(file),
    }
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn shell(file: &JobFile) -> String {
    file.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn slurm(file: &JobFile) -> String {
    let (name, out, last, jobs) = (job_name(&file.name), quoted(&file.out), file.shards - 1, file.jobs);
    let command = shell(file);
    format!(
        r#"#!/bin/sh
# Runs the sweep as a Slurm array and merges its shards. Submit it once: sbatch THIS_FILE
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task={jobs}
#SBATCH --mem-per-cpu=1G
#SBATCH --time=04:00:00
set -eu
# The first task submits the merge, which waits for the whole array and goes if a shard fails.
if [ "$SLURM_ARRAY_TASK_ID" = 0 ]; then
  sbatch --job-name={name}-merge --dependency="afterok:$SLURM_ARRAY_JOB_ID" --kill-on-invalid-dep=yes --cpus-per-task=1 <<'MERGE'
#!/bin/sh
exec shedcast merge {out}/shard-* --out {out}
MERGE
fi
# The shard is read from SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT.
{command} --jobs {jobs} --resume --out {out}/shard-"$SLURM_ARRAY_TASK_ID"
"#
    )
}

fn parallel(file: &JobFile) -> String {
    let (out, shards, jobs, command) = (quoted(&file.out), file.shards, file.jobs, shell(file));
    format!(
        r#"#!/bin/sh
# Runs the sweep in {shards} shards with GNU parallel and merges them. Add `--sshlogin` to use several machines.
set -eu
seq {shards} | parallel --halt soon,fail=1 -q {command} --jobs {jobs} --resume --shard {{}}/{shards} --out {out}/shard-{{}}
shedcast merge {out}/shard-* --out {out}
"#
    )
}

fn kubernetes(file: &JobFile) -> String {
    let (name, shards, jobs) = (job_name(&file.name), file.shards, file.jobs);
    let script = format!("{} --jobs {jobs} --resume --out {}/shard-\"$JOB_COMPLETION_INDEX\"", shell(file), quoted(&file.out));
    let merge = format!(
        "until [ \"$(ls -d {out}/shard-*/sweep-shard.jsonl 2>/dev/null | wc -l)\" = {shards} ]; do sleep 5; done; shedcast merge {out}/shard-* --out {out}",
        out = quoted(&file.out)
    );
    let container = |command: &str| {
        format!(
            r#"      restartPolicy: Never
      containers:
        - name: shedcast
          image: shedcast:{version}
          workingDir: /data
          command: ["sh", "-c", {command}]
          env:
            - name: SHEDCAST_SHARD_COUNT
              value: "{shards}"
          resources:
            requests: {{ cpu: "{jobs}", memory: "1Gi" }}
            limits: {{ memory: "1Gi" }}
          volumeMounts:
            - {{ name: data, mountPath: /data }}
      volumes:
        - name: data
          persistentVolumeClaim: {{ claimName: shedcast-data }}
"#,
            version = env!("CARGO_PKG_VERSION"),
            command = serde_json::to_string(command).expect("a text can be written"),
        )
    };
    format!(
        r#"# An Indexed Job runs the shards, a second Job waits for them and merges. Image and volume claim are yours to name:
# the scenario lies in the volume `shedcast-data`, where the results go too.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {shards}
  backoffLimit: 6
  template:
    spec:
{}---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-merge
spec:
  backoffLimit: 6
  template:
    spec:
{}"#,
        container(&script),
        container(&merge),
    )
}

/// Characters of a sweep's name in the name of its job: Kubernetes allows 63 for the host name of a pod, which is the job's name
/// with `shedcast-` before it and `-merge`, or the index of up to 10,000 shards, behind it.
const LONGEST_NAME: usize = 63 - "shedcast-".len() - "-merge".len();

/// The name as Slurm and Kubernetes take it: lowercase letters, digits and hyphens, no hyphen at the end.
fn job_name(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let text: String = plain.take(LONGEST_NAME).collect();
    match text.trim_matches('-') {
        "" => "shedcast-sweep".to_owned(),
        text => format!("shedcast-{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_a_name_that_kubernetes_takes() {
        for name in ["a queue", "Überlast", "-x-", "日本語", &"long ".repeat(30), "telemetry_delay"] {
            let job = job_name(name);
            let pods = [format!("{job}-9999"), format!("{job}-merge")];
            assert!(pods.iter().all(|pod| pod.len() <= 63), "{job}");
            assert!(
                job.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') && !job.ends_with('-'),
                "{job}"
            );
        }
        assert_eq!([job_name("日本語"), job_name("My Queue")], ["shedcast-sweep", "shedcast-my-queue"]);
    }
}
