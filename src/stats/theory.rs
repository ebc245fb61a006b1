//! Closed forms of queueing theory that simulated figures are held against, and first bounds of the planner come from.
//!
//! Rates are per second, times in seconds. Everything is computed by recursions of positive terms below 1, so that
//! thousands of servers neither overflow nor cancel. Sources: Erlang 1917; Kleinrock, "Queueing systems" volume 1 (1975),
//! sections 3.2 to 3.7 and 5.6; Gross and Harris, "Fundamentals of queueing theory", chapter 2.

/// Steady-state figures of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueFigures {
    /// Share of arrivals that find no room.
    pub refused_share: f64,
    /// Mean number in the system, those in service included.
    pub mean_in_system: f64,
    /// Mean number waiting.
    pub mean_waiting: f64,
    /// Mean number in service.
    pub mean_in_service: f64,
    /// Mean wait of those accepted, seconds.
    pub mean_wait: f64,
    /// Mean time in the system of those accepted, seconds.
    pub mean_sojourn: f64,
    /// Share of the accepted that wait at all.
    pub wait_share: f64,
}

/// Whether a value is a positive finite number.
fn positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Erlang's loss formula B(c, a): the share lost of `offered` Erlang (rate times mean service time, whatever its
/// distribution) by `servers` without a queue; B(0) = 1, B(k) = a B(k-1) / (k + a B(k-1)) (Erlang 1917).
/// `None` unless `offered` is finite and at least 0.
pub fn erlang_b(servers: u64, offered: f64) -> Option<f64> {
    if !offered.is_finite() || offered < 0.0 {
        return None;
    }
    Some((1..=servers).fold(1.0, |lost, k| offered * lost / (k as f64 + offered * lost)))
}

/// Erlang's delay formula C(c, a): the share that waits in M/M/c, from B by C = B / (1 - rho (1 - B)) (Erlang 1917).
/// `None` unless 0 <= `offered` < `servers`.
pub fn erlang_c(servers: u64, offered: f64) -> Option<f64> {
    let lost = erlang_b(servers, offered)?;
    let load = offered / servers as f64;
    (offered < servers as f64).then(|| lost / (1.0 - load * (1.0 - lost)))
}

/// The fewest servers without a queue that lose at most the share `target` of `offered` Erlang; `None` if more than
/// `most` were needed or an argument is out of range.
pub fn erlang_b_servers(offered: f64, target: f64, most: u64) -> Option<u64> {
    erlang_b(0, offered)?;
    let mut lost = 1.0;
    (0..=most).find(|&servers| {
        if servers > 0 {
            lost = offered * lost / (servers as f64 + offered * lost);
        }
        lost <= target
    })
}

/// M/M/1 (Kleinrock 3.2): Poisson arrivals, exponential service, one server. `None` unless stable and positive.
pub fn mm1(rate: f64, mean_service: f64) -> Option<QueueFigures> {
    mmc(rate, mean_service, 1)
}

/// M/M/c (Kleinrock 3.5) by Erlang's delay formula. `None` unless stable and positive.
pub fn mmc(rate: f64, mean_service: f64, servers: u64) -> Option<QueueFigures> {
    if !positive(rate) || !positive(mean_service) {
        return None;
    }
    let offered = rate * mean_service;
    let waits = erlang_c(servers, offered)?;
    let mean_wait = waits * mean_service / (servers as f64 - offered);
    let mean_waiting = rate * mean_wait;
    Some(QueueFigures {
        refused_share: 0.0,
        mean_in_system: mean_waiting + offered,
        mean_waiting,
        mean_in_service: offered,
        mean_wait,
        mean_sojourn: mean_wait + mean_service,
        wait_share: waits,
    })
}

/// M/M/c/K (Kleinrock 3.6): `servers` at least 1 and room for `room` >= `servers` in all. `None` for other arguments.
///
/// The chain with room for n has p_n = r p_{n-1} / (1 + r p_{n-1}) with r = rate mean / min(n, c) and p_{n-1} the last
/// probability of the chain with room for n - 1; all its earlier probabilities are those of that chain times 1 - p_n,
/// so a mean m over the states follows the same way: m_n = (1 - p_n) m_{n-1} + p_n value(n). Takes `room` steps.
pub fn mmck(rate: f64, mean_service: f64, servers: u64, room: u64) -> Option<QueueFigures> {
    if !positive(rate) || !positive(mean_service) || servers == 0 || room < servers {
        return None;
    }
    let offered = rate * mean_service;
    // The chain with no room at all: one state, empty.
    let (mut full, mut waiting, mut serving, mut all_busy) = (1.0, 0.0, 0.0, 0.0);
    for n in 1..=room {
        let busy = n.min(servers);
        let ratio = offered / busy as f64 * full;
        full = ratio / (1.0 + ratio);
        let rest = 1.0 / (1.0 + ratio);
        waiting = rest * waiting + full * (n - busy) as f64;
        serving = rest * serving + full * busy as f64;
        all_busy = rest * all_busy + if n >= servers { full } else { 0.0 };
    }
    let accepted = rate * (1.0 - full);
    let mean_wait = waiting / accepted;
    Some(QueueFigures {
        refused_share: full,
        mean_in_system: waiting + serving,
        mean_waiting: waiting,
        mean_in_service: serving,
        mean_wait,
        mean_sojourn: mean_wait + mean_service,
        wait_share: (all_busy - full).max(0.0) / (1.0 - full),
    })
}

/// The fewest servers that, with `queue` further places, refuse at most the share `target` (M/M/c/(c + queue)); `None` if
/// more than `most` were needed or an argument is out of range. The share falls with each server, so bisection finds it.
pub fn mmck_servers(rate: f64, mean_service: f64, queue: u64, target: f64, most: u64) -> Option<u64> {
    let refused = |servers: u64| mmck(rate, mean_service, servers, servers.saturating_add(queue)).map(|f| f.refused_share);
    if refused(most)? > target {
        return None;
    }
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if refused(middle)? <= target { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// M/G/1, the formula of Pollaczek (1930) and Khinchine (1932): mean wait = rate E[S^2] / (2 (1 - rho)), with
/// E[S^2] = mean^2 (1 + scv); `scv` is the squared coefficient of variation of the service time (0 constant, 1 exponential).
/// `None` unless stable, positive, and `scv` finite and at least 0.
pub fn mg1(rate: f64, mean_service: f64, scv: f64) -> Option<QueueFigures> {
    let load = rate * mean_service;
    if !positive(rate) || !positive(mean_service) || load >= 1.0 || !scv.is_finite() || scv < 0.0 {
        return None;
    }
    let mean_wait = load * mean_service * (1.0 + scv) / (2.0 * (1.0 - load));
    let mean_waiting = rate * mean_wait;
    Some(QueueFigures {
        refused_share: 0.0,
        mean_in_system: mean_waiting + load,
        mean_waiting,
        mean_in_service: load,
        mean_wait,
        mean_sojourn: mean_wait + mean_service,
        wait_share: load,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "got {got}, want {want}");
    }

    #[test]
    fn erlang_b_agrees_with_published_tables() {
        close(erlang_b(4, 3.0).unwrap(), 0.2061, 5e-5);
        // The usual traffic tables: 1 % loss at 10 servers is 4.461 Erlang, at 100 servers 84.064 (both rounded).
        close(erlang_b(10, 4.461).unwrap(), 0.01, 4e-6);
        close(erlang_b(100, 84.064).unwrap(), 0.01, 2e-6);
        assert_eq!((erlang_b(0, 5.0), erlang_b(3, 0.0)), (Some(1.0), Some(0.0)));
        assert_eq!((erlang_b(3, -1.0), erlang_b(3, f64::NAN)), (None, None));
        assert_eq!((erlang_b_servers(4.461, 0.0101, 50), erlang_b_servers(4.461, 0.0099, 50)), (Some(10), Some(11)));
        assert_eq!((erlang_b_servers(50.0, 0.01, 20), erlang_b_servers(3.0, 1.0, 20)), (None, Some(0)));
    }

    #[test]
    fn mmck_agrees_with_the_worked_example() {
        let figures = mmck(3.0, 1.0, 2, 4).unwrap();
        // States 1, 3, 4.5, 6.75, 10.125 over 25.375.
        close(figures.refused_share, 10.125 / 25.375, 1e-14);
        close(figures.mean_in_system, (3.0 + 9.0 + 20.25 + 40.5) / 25.375, 1e-13);
        close(figures.mean_wait, (6.75 + 20.25) / 25.375 / (3.0 * 15.25 / 25.375), 1e-13);
        close(figures.wait_share, 11.25 / 15.25, 1e-13);
        close(figures.refused_share, 0.3990, 5e-5);
        close(figures.mean_in_system, 2.867, 5e-4);
        close(figures.mean_wait, 0.590, 5e-4);
    }

    #[test]
    fn mmc_agrees_with_published_values() {
        // One server at load 0.8, mean 1 s: 4 in the system, 4 s to wait. Two at 0.75 each: C = 9/14.
        let one = mm1(0.8, 1.0).unwrap();
        close(one.mean_in_system, 4.0, 1e-12);
        close(one.mean_wait, 4.0, 1e-12);
        close(erlang_c(2, 1.5).unwrap(), 9.0 / 14.0, 1e-14);
        // 8 servers, 6 Erlang: the probability to wait is 0.3570 (tables of Erlang's delay formula).
        close(erlang_c(8, 6.0).unwrap(), 0.3570, 5e-5);
        assert_eq!((mmc(2.0, 1.0, 2), mmc(1.0, 0.0, 2), mmc(f64::NAN, 1.0, 2), erlang_c(0, 0.0)), (None, None, None, None));
    }

    #[test]
    fn mg1_holds_for_constant_and_exponential_service() {
        let exponential = mg1(0.8, 1.0, 1.0).unwrap();
        close(exponential.mean_wait, mm1(0.8, 1.0).unwrap().mean_wait, 1e-12);
        close(mg1(0.8, 1.0, 0.0).unwrap().mean_wait, 2.0, 1e-12);
        assert_eq!((mg1(1.0, 1.0, 1.0), mg1(0.5, 1.0, -1.0)), (None, None));
    }

    #[test]
    fn large_systems_neither_overflow_nor_cancel() {
        let lost = erlang_b(100_000, 100_000.0).unwrap();
        // Heavy-traffic limit at a = c: sqrt(2 / (pi c)).
        close(lost * 100_000f64.sqrt(), (2.0 / std::f64::consts::PI).sqrt(), 2e-3);
        let figures = mmck(0.9, 1.0, 1, 1_000_000).unwrap();
        close(figures.mean_in_system, 9.0, 1e-9);
        assert!(figures.refused_share < 1e-300);
        close(mmck(2.0, 1.0, 1, 1_000_000).unwrap().refused_share, 0.5, 1e-9);
    }

    #[test]
    fn the_fewest_servers_are_found_by_bisection_as_by_trying() {
        for target in [0.01, 0.001, 0.0001] {
            let trying = (1..100).find(|&c| mmck(12.0, 1.5, c, c + 16).unwrap().refused_share <= target);
            assert_eq!(mmck_servers(12.0, 1.5, 16, target, 100), trying);
        }
        assert_eq!(mmck_servers(12.0, 1.5, 16, 0.01, 5), None);
    }

    proptest! {
        #[test]
        fn littles_law_and_the_flow_balance_hold(rate in 0.01f64..200.0, mean in 0.01f64..20.0, servers in 1u64..60, queue in 0u64..60) {
            let figures = mmck(rate, mean, servers, servers + queue).unwrap();
            let accepted = rate * (1.0 - figures.refused_share);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-300);
            prop_assert!(near(figures.mean_in_system, accepted * figures.mean_sojourn));
            prop_assert!(near(figures.mean_in_service, accepted * mean));
            if queue == 0 {
                prop_assert!(near(figures.refused_share, erlang_b(servers, rate * mean).unwrap()));
            }
        }

        #[test]
        fn a_long_queue_is_the_endless_one(load in 0.05f64..0.9, servers in 1u64..20) {
            let endless = mmc(load * servers as f64, 1.0, servers).unwrap();
            let long = mmck(load * servers as f64, 1.0, servers, servers + 2000).unwrap();
            prop_assert!((endless.mean_in_system - long.mean_in_system).abs() < 1e-8 * endless.mean_in_system);
            prop_assert!((endless.wait_share - long.wait_share).abs() < 1e-8);
        }
    }
}
