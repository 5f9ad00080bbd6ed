//! Enums whose variants are names.

/// Defines an enum from the names of its variants, which serde, `as_str` and `Display` share.
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        pub enum $enum:ident { $($(#[$about:meta])* $variant:ident = $name:literal,)+ }
    ) => {
        $(#[$attribute])*
        pub enum $enum {
            $($(#[$about])* #[serde(rename = $name)] $variant,)+
        }

        impl $enum {
            /// Every variant, in the order of this list.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in the API.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
