//! Deserializers for fields that may be `null`, which means the same as an absent field. In requests the hub refuses
//! `null` in any other field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

/// Reads any JSON value; `null` becomes `None`.
pub(crate) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(Some(value).filter(|value| !value.is_null()))
}

/// Reads an object into `T`; `null` becomes `None`.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_any(ObjectOrNull(PhantomData))
}

struct ObjectOrNull<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectOrNull<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Option<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Some)
    }
}
