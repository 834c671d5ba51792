//! Rust enums of C's.

/// `c_enum! { Name: vkf_name { Variant = VKF_NAME_VARIANT, ... } }`: an enum with the way there and back. Where it
/// derives `Default`, the default is C's 0.
macro_rules! c_enum {
    ($(#[$meta:meta])* $name:ident: $raw:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $value:ident),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        #[allow(dead_code)]
        impl $name {
            pub(crate) fn raw(self) -> vkformer_sys::$raw {
                match self {
                    $(Self::$variant => vkformer_sys::$raw::$value,)+
                }
            }

            /// None for a value of a later version of the library.
            pub(crate) fn from_raw(raw: vkformer_sys::$raw) -> Option<Self> {
                match raw {
                    $(vkformer_sys::$raw::$value => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use c_enum;

#[cfg(test)]
mod tests {
    /// What a C struct has where nothing was said has to be what the same Rust struct has.
    #[test]
    fn default_of_every_enum_is_zero() {
        macro_rules! assert_zero {
            ($($name:ident),+) => {
                $(assert_eq!(crate::$name::default().raw().0, 0, stringify!($name));)+
            };
        }
        assert_zero!(Activation, Causal, DeviceType, Dtype, EarlyStopping, FullyMasked, Head, MaskKind, MemoryKind);
        assert_zero!(ModelKind, ModelPrecision, Port, Precision, Profile, Quantization, Similarity, StopReason);
        assert_zero!(Truncation);
    }

    #[test]
    fn values_without_a_name_are_none() {
        assert_eq!(crate::Status::from_raw(crate::Status::File.raw()), Some(crate::Status::File));
        assert_eq!(crate::Status::from_raw(vkformer_sys::vkf_status(12345)), None);
        assert_eq!(crate::Status::from_raw(vkformer_sys::vkf_status::VKF_OK), None);
    }
}
