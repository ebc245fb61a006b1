//! A progress bar on the terminal, driven from a thread of its own: the simulation only counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cluster::Remote;
use crate::scenario::Scenario;
use crate::units::SimTime;

const PERIOD: Duration = Duration::from_millis(100);
/// Parts the bar is divided into.
const PARTS: u64 = 10_000;

/// A bar that shows how far a run has come until it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts a bar on standard error.
    pub(super) fn start(scenario: &Scenario, remote: &Arc<Remote>) -> Self {
        let (horizon, requests) = (scenario.horizon, scenario.requests);
        let remote = Arc::clone(remote);
        let (stop, stopped) = channel();
        let bounded = horizon.is_some() || requests.is_some();
        let thread = std::thread::spawn(move || {
            let bar = bar(bounded);
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                draw(&bar, &remote, horizon, requests);
            }
            bar.finish_and_clear();
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The bar is decoration: a panic in its thread changes no result.
            let _ = thread.join();
        }
    }
}

fn bar(bounded: bool) -> ProgressBar {
    let template = if bounded { "{bar:30} {percent:>3} %  {msg}  {eta} left" } else { "{spinner} {msg}" };
    let style = ProgressStyle::with_template(template).expect("the template is fixed and valid");
    ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr()).with_style(style)
}

fn draw(bar: &ProgressBar, remote: &Remote, horizon: Option<SimTime>, requests: Option<u64>) {
    let (reached, arrived) = (remote.reached.load(Ordering::Relaxed), remote.arrived.load(Ordering::Relaxed));
    let part = |done: u64, all: u64| (done as f64 / all.max(1) as f64 * PARTS as f64) as u64;
    let by_time = horizon.map(|end| part(reached, end.as_nanos()));
    let by_count = requests.map(|all| part(arrived, all));
    bar.set_position(by_time.max(by_count).unwrap_or(0).min(PARTS));
    let time = crate::stats::text::duration(reached as f64);
    bar.set_message(format!("{time} simulated, {} requests", crate::stats::text::count(arrived)));
}
