//! The pauses between attempts.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);
/// The longest pause that a target can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// Pauses that double from 1 s to 5 min. Half of each is random, so that several hubs do not retry together.
#[derive(Debug)]
pub struct Backoff(Duration);

impl Backoff {
    /// Begins with the shortest pause.
    #[allow(clippy::new_without_default)] // no value stands for no attempt
    pub fn new() -> Self {
        Self(FIRST)
    }

    /// Returns the next pause: at least `asked`, if the target asks for a pause.
    pub fn next(&mut self, asked: Option<Duration>) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST);
        let mut random = [0; 1];
        // Without randomness the pause is only less spread.
        let _ = getrandom::fill(&mut random);
        let pause = pause / 2 + pause.mul_f64(f64::from(random[0]) / 512.0);
        pause.max(asked.unwrap_or_default().min(LONGEST_ASKED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let mut backoff = Backoff::new();
        let mut expected = 1.0;
        for _ in 0..12 {
            let pause = backoff.next(None).as_secs_f64();
            assert!((expected / 2.0..=expected).contains(&pause), "{pause}");
            expected = f64::min(expected * 2.0, 300.0);
        }
    }

    #[test]
    fn a_target_can_ask_for_a_longer_pause_of_at_most_an_hour() {
        let asked = |seconds| Backoff::new().next(Some(Duration::from_secs(seconds)));
        assert_eq!(asked(30), Duration::from_secs(30));
        assert_eq!(asked(u64::MAX), LONGEST_ASKED);
    }
}
