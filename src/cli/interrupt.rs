//! Ctrl-C: the first ends the run cleanly, the second at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::ExitStatus;
use crate::cluster::Remote;

/// Lets Ctrl-C (and SIGTERM, SIGHUP) stop what `remote` controls. Where the system grants no handler the default stays, which
/// ends the process and leaves results as they were.
pub(super) fn stop_on_interrupt(remote: &Arc<Remote>) {
    let remote = Arc::clone(remote);
    let _ = ctrlc::set_handler(move || {
        if remote.stop.swap(true, Ordering::Relaxed) {
            leave_at_once();
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "a second Ctrl-C must end a process that does not come to its end")]
fn leave_at_once() -> ! {
    std::process::exit(ExitStatus::Interrupted as i32)
}
