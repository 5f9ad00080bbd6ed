//! The property: after any actions, the fold equals the model.

use hub_harness::repetitions;
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::action::actions;
use super::driver::Driver;

/// Returns a configuration with `PROPTEST_CASES` cases; without that variable, with as many as a run of all tests has.
pub(crate) fn config() -> Config {
    let config = Config::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config.cases,
        None => repetitions(1000, 10_000),
    };
    Config {
        cases,
        failure_persistence: None,
        ..config
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_fold_equals_the_model_after_any_actions(actions in actions()) {
        let mut driver = Driver::new();
        for action in &actions {
            driver.run(action);
            driver.check();
        }
        driver.check_fold();
    }
}
