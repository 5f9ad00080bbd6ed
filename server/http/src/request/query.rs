//! Deserializes query strings with serde: a list parameter may be repeated, any other may not.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};

use super::strict::{MAX_NUMBER, Strict};

const WHOLE: &str = "a whole number of at least 0";

/// Deserializes decoded pairs. An error names its parameter if serde allows it.
pub(crate) fn read<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    let mut grouped: Vec<(String, ParamValues)> = Vec::new();
    for (name, value) in pairs {
        if let Some((_, values)) = grouped.iter_mut().find(|(other, _)| *other == name) {
            values.texts.push(value);
        } else {
            let texts = vec![value];
            grouped.push((name.clone(), ParamValues { name, texts }));
        }
    }
    T::deserialize(Strict(MapDeserializer::new(grouped.into_iter())))
}

/// The values given for one parameter.
struct ParamValues {
    name: String,
    texts: Vec<String>,
}

impl ParamValues {
    /// The single value of a parameter that is not a list.
    fn one(&mut self) -> Result<String, Error> {
        match self.texts.pop() {
            Some(text) if self.texts.is_empty() => Ok(text),
            _ => Err(Error::custom(format!("duplicate field `{}`", self.name))),
        }
    }

    fn parsed<T: FromStr>(&mut self, expected: &str) -> Result<T, Error> {
        let text = self.one()?;
        text.parse()
            .map_err(|_| Error::custom(format!("{} is {expected}", self.name)))
    }
}

impl IntoDeserializer<'_> for ParamValues {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for ParamValues {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        if self.texts.len() == 1 {
            return visitor.visit_string(self.one()?);
        }
        visitor.visit_seq(SeqDeserializer::new(self.texts.into_iter()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.parsed("true or false")?)
    }

    fn deserialize_u32<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(self.parsed(WHOLE)?)
    }

    fn deserialize_u64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let number = self.parsed(WHOLE)?;
        // The visitor refuses it too, but cannot name the parameter.
        if number > MAX_NUMBER {
            return Err(Error::custom(format!("{} is at most 2^53 - 1", self.name)));
        }
        visitor.visit_u64(number)
    }

    fn deserialize_string<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.one()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text: serde::de::value::StringDeserializer<Error> = self.one()?.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// Deserializes a list: `a,b`, or the parameter repeated, or both.
pub(crate) fn list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let texts = match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    };
    let parts = texts.iter().flat_map(|text| text.split(','));
    parts
        .map(|part| part.trim().parse().map_err(D::Error::custom))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// The values of a list parameter.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}
