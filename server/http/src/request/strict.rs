//! A serde wrapper that enforces the contract of bodies and queries where serde accepts more.
//!
//! serde also accepts an array for a struct (its fields in order) and `null` for a field that may be absent. The
//! contract allows neither. Its types also ignore unknown members, which are errors in a request. [`Strict`] wraps any
//! deserializer and refuses all of these, at every depth. Free-form values ([`serde_json::Value`]) pass unchanged. Only a
//! type with a flattened member needs `deny_unknown_fields` of its own, because serde does not say which members it has.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};

/// The largest integer that every JSON client reads exactly (RFC 8259, section 6); record numbers stay below it.
pub(super) const MAX_NUMBER: u64 = (1 << 53) - 1;

/// A deserializer, visitor, seed or access that wraps everything inside it as well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strict<T>(pub(crate) T);

/// A value that was deserialized strictly.
pub(crate) struct StrictValue<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictValue<T> {
    fn deserialize<D: Deserializer<'de>>(inner: D) -> Result<Self, D::Error> {
        T::deserialize(Strict(inner)).map(Self)
    }
}

/// Methods of a deserializer that wrap the visitor in `$wrapper`.
macro_rules! forward {
    ($wrapper:ident: $($method:ident($($arg:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($arg,)* $wrapper(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        Strict:
        deserialize_any() deserialize_bool() deserialize_f32() deserialize_f64() deserialize_char() deserialize_str()
        deserialize_string() deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit()
        deserialize_seq() deserialize_map() deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
    }

    forward! {
        WholeNumber:
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
    }

    // Deserialized as a map, because only a map refuses an array.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Members {
            inner: visitor,
            names,
        })
    }

    // Deserialized as a text, because serde's error for anything else names no word that would be accepted.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_str(Word {
            inner: visitor,
            words,
        })
    }
}

/// The visitor of an enum. In a request each is one of several words.
struct Word<V> {
    inner: V,
    words: &'static [&'static str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Word<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of `{}`", self.words.join("`, `"))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        self.inner.visit_enum(word.into_deserializer())
    }
}

/// The visitor of a struct, the access to its members, and the seed of a member's name; refuses a member that the struct
/// does not have. The types of the API ignore such a member, because a newer program may send it in an answer.
struct Members<T> {
    inner: T,
    names: &'static [&'static str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Members<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Members {
            inner: members,
            names: self.names,
        })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(Members {
            inner: seed,
            names: self.names,
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Members<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<S::Value, D::Error> {
        struct Name<S>(Members<S>);

        impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Name<S> {
            type Value = S::Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<S::Value, E> {
                if !self.0.names.contains(&name) {
                    return Err(E::unknown_field(name, self.0.names));
                }
                self.0.inner.deserialize(name.into_deserializer())
            }
        }

        name.deserialize_identifier(Name(self))
    }
}

/// The visitor of a whole number. JSON Schema counts `5.0` as one, and every client can read those up to 2^53 - 1.
struct WholeNumber<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for WholeNumber<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<V::Value, E> {
        self.0.visit_i64(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V::Value, E> {
        if number > MAX_NUMBER {
            return Err(E::custom(format_args!("{number} is more than 2^53 - 1")));
        }
        self.0.visit_u64(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<V::Value, E> {
        // Rust prints a whole float without a fraction, however large it is.
        match number.to_string().parse() {
            Ok(whole) => self.visit_u64(whole),
            Err(_) => self.0.visit_f64(number),
        }
    }
}

macro_rules! visit {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool: bool,
        visit_i64: i64,
        visit_u64: u64,
        visit_f64: f64,
        visit_str: &str,
        visit_string: String,
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        Err(E::custom("null is not a value here: leave the field out"))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(inner))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Strict(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Strict(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(fields))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(variant)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(inner))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// Translates serde's error into terms of the contract, because a client does not know the hub's Rust types.
pub(crate) fn client_message(error: &str) -> String {
    let Some((before, rest)) = error.split_once("expected ") else {
        return match error {
            "invalid digit found in string"
            | "cannot parse integer from empty string"
            | "number too large to fit in target type" => "a whole number belongs here".into(),
            _ => error.to_owned(),
        };
    };
    let (expected, position) = match rest.find(" at line ") {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let words = match expected {
        "usize" | "u8" | "u16" | "u32" | "u64" | "u128" => "a whole number of at least 0",
        "isize" | "i8" | "i16" | "i32" | "i64" | "i128" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "str" | "a borrowed string" => "a text",
        "a boolean" | "bool" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") || expected.starts_with("string or map") => "a text",
        _ => expected,
    };
    let before = before
        .replace("invalid type: sequence", "invalid type: array")
        .replace("invalid type: map", "invalid type: object");
    format!("{before}expected {words}{position}")
}

#[cfg(test)]
mod tests {
    use hub_protocol::{AnswerPost, Decision, Post, Preferences, SessionInfo};
    use serde::de::DeserializeOwned;

    use super::*;

    fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
        let sound = serde_json::from_str::<StrictValue<T>>(json);
        sound
            .map(|it| it.0)
            .map_err(|error| client_message(&error.to_string()))
    }

    #[test]
    fn an_unknown_member_is_refused_at_any_depth() {
        let error = read::<SessionInfo>(r#"{"process":{"pid":1,"x":2}}"#).unwrap_err();
        assert!(error.starts_with("unknown field `x`, expected"), "{error}");
        let aliased = read::<Post>(r#"{"message":"x","data":{"y":1}}"#).unwrap();
        assert_eq!(aliased.msg, "x");
    }

    #[test]
    fn null_is_refused_except_in_free_form_values() {
        for json in [
            r#"{"msg":"x","from":null}"#,
            r#"{"msg":"x","ttl":null}"#,
            r#"{"msg":"x","options":null}"#,
        ] {
            let error = read::<Post>(json).unwrap_err();
            assert!(error.contains("leave the field out"), "{error}");
        }
        let free = read::<Post>(r#"{"msg":"x","data":{"a":[null,{"b":null}]}}"#).unwrap();
        assert_eq!(free.data.unwrap()["a"][1]["b"], serde_json::Value::Null);
        let none = read::<Post>(r#"{"msg":"x","data":null}"#).unwrap();
        assert_eq!(none.data, None);
        let info = read::<SessionInfo>(r#"{"metadata":null}"#).unwrap();
        assert_eq!(info.metadata, None);
        let none = read::<Preferences>(r#"{"quiet":null}"#).unwrap();
        assert_eq!(none, Preferences::default());
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction() {
        let read_ttl = |ttl: &str| read::<Post>(&format!(r#"{{"msg":"x","ttl":{ttl}}}"#));
        for ttl in ["5", "5.0", "0.5e1"] {
            assert_eq!(read_ttl(ttl).unwrap().ttl, Some(5));
        }
        for ttl in ["5.5", "-5.0", "1e30", "9007199254740992"] {
            read_ttl(ttl).unwrap_err();
        }
        let free = read::<Post>(r#"{"msg":"x","data":5.0}"#).unwrap();
        assert!(free.data.unwrap().is_f64());
    }

    #[test]
    fn an_enum_is_one_of_its_words_and_an_error_names_them() {
        let words = "`allow`, `allow_always`, `accept_edits`, `deny`, `cancel`";
        for (verdict, what) in [
            (r#"{"allow":true}"#, "invalid type: object"),
            (r#"{"allow":null}"#, "invalid type: object"),
            ("true", "invalid type: boolean `true`"),
            (r#""yes""#, "unknown variant `yes`"),
        ] {
            let error = read::<AnswerPost>(&format!(r#"{{"verdict":{verdict}}}"#)).unwrap_err();
            let expected = format!("{what}, expected one of {words}");
            assert!(error.starts_with(&expected), "{error}");
        }
        let post = read::<AnswerPost>(r#"{"verdict":"allow_always"}"#).unwrap();
        assert_eq!(post.verdict, Some(Decision::AllowAlways));
    }

    #[test]
    fn errors_use_the_terms_of_json() {
        let at_least_0 = "expected a whole number of at least 0";
        let text = "invalid type: integer `1`, expected a text at line 1 column 8";
        let array = "invalid type: object, expected an array";
        for (json, message) in [
            (r#"{"msg":1}"#, text),
            (r#"{"msg":"x","ttl":"5"}"#, at_least_0),
            (r#"{"msg":"x","ttl":-1}"#, at_least_0),
            (r#"{"msg":"x","options":{}}"#, array),
            ("42", "expected an object"),
            (
                r#"["a","b"]"#,
                "invalid type: array, expected an object at line 1",
            ),
        ] {
            let error = read::<Post>(json).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
