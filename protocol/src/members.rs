//! Reads answers member by member.
//!
//! A derived deserializer repeats its parsing for every type, which would make `hubctl` a tenth larger. [`members!`]
//! shares one parser: a type only says which member sets which field. Unknown members are ignored, because a newer hub
//! may send them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

/// Sets the field for the member with this name.
type Set<'a> = &'a mut dyn FnMut(&str, &RawValue) -> Result<(), Error>;

/// Implements `Deserialize` for a type with a default: a list of members with their fields, and those that must exist.
macro_rules! members {
    ($type:ident requires $required:expr; $($name:literal => $($field:ident).+,)*) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
                let mut it = Self::default();
                let set = &mut |name: &str, json: &serde_json::value::RawValue| {
                    match name {
                        $($name => it.$($field).+ = $crate::members::value(json)?,)*
                        _ => {}
                    }
                    Ok(())
                };
                $crate::members::each(&json, &$required, set).map_err(serde::de::Error::custom)?;
                Ok(it)
            }
        }
    };
}
pub(crate) use members;

/// Parses the value of one member.
#[inline(never)]
pub(crate) fn value<T: DeserializeOwned>(json: &RawValue) -> Result<T, Error> {
    serde_json::from_str(json.get())
}

/// Calls `set` with each member of an object. An error if one of `required` is missing.
pub(crate) fn each(json: &RawValue, required: &[&str], set: Set<'_>) -> Result<(), Error> {
    let missing = Object {
        missing: required.to_vec(),
        set,
    };
    serde_json::Deserializer::from_str(json.get()).deserialize_map(missing)
}

struct Object<'a> {
    missing: Vec<&'a str>,
    set: Set<'a>,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            let json: &RawValue = map.next_value()?;
            self.missing.retain(|missing| *missing != name);
            (self.set)(&name, json).map_err(A::Error::custom)?;
        }
        match self.missing.first() {
            None => Ok(()),
            Some(name) => Err(A::Error::custom(format_args!("missing field `{name}`"))),
        }
    }
}
