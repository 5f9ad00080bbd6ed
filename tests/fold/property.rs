//! The property: whatever happens, the fold is the model.

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::action::actions;
use super::driver::Driver;

/// `PROPTEST_CASES` where it is set; else what a CI run has time for, and a person.
pub(crate) fn config() -> Config {
    let config = Config::default();
    let cases = match (std::env::var_os("PROPTEST_CASES"), std::env::var_os("CI")) {
        (Some(_), _) => config.cases,
        (None, Some(_)) => 10_000,
        (None, None) => 500,
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
    fn the_fold_is_the_model_whatever_happens(actions in actions()) {
        let mut driver = Driver::new();
        for action in &actions {
            driver.run(action);
            driver.check();
        }
        driver.check_fold();
    }
}
