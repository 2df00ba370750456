//! The key of the hashes that stand for secrets.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Least length of a key, bytes: 128 bits.
pub const MIN_KEY: usize = 16;

/// Bytes of the tag that are written: 128 bits tell values apart in any set that can be recorded.
const WRITTEN: usize = 16;

/// A key of HMAC-SHA-256 (RFC 2104, FIPS 180-4). Neither printed nor given out again.
#[derive(Debug, Clone)]
pub struct HashKey {
    key: hmac::Key,
    lasting: bool,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyError {
    /// A key that could be guessed.
    #[error("the key has {0} bytes: give at least {MIN_KEY} random ones")]
    Short(usize),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a key: name a key_file or key_env")]
    NoRandom,
}

impl HashKey {
    /// A key that is the same at each start.
    ///
    /// # Errors
    /// When it has less than [`MIN_KEY`] bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, KeyError> {
        if bytes.len() < MIN_KEY {
            return Err(KeyError::Short(bytes.len()));
        }
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, bytes), lasting: true })
    }

    /// A key of this process only: equal values have equal hashes within one start of one proxy.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn random() -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::NoRandom)?;
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, &bytes), lasting: false })
    }

    /// Whether equal values have equal hashes beyond this process.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// `hash:` and the first 128 bits of HMAC-SHA-256 of the bytes, 32 hex digits.
    #[must_use]
    pub fn hash(&self, value: &[u8]) -> String {
        let tag = hmac::sign(&self.key, value);
        tag.as_ref().iter().take(WRITTEN).fold("hash:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_rfc() {
        // RFC 4231, test case 3: key of 20 bytes 0xaa, 50 bytes 0xdd.
        let key = HashKey::new(&[0xaa; 20]).unwrap();
        assert_eq!(key.hash(&[0xdd; 50]), "hash:773ea91e36800e46854db8ebd09181a7");
    }

    #[test]
    fn equal_stays_equal_under_one_key_only() {
        let (one, other) = (HashKey::random().unwrap(), HashKey::random().unwrap());
        assert_eq!(one.hash(b"Jane"), one.clone().hash(b"Jane"));
        assert_ne!(one.hash(b"Jane"), one.hash(b"Jean"));
        assert_ne!(one.hash(b"Jane"), other.hash(b"Jane"));
        assert!(!one.is_lasting());
    }

    #[test]
    fn a_short_key_is_refused_and_no_key_is_printed() {
        assert_eq!(HashKey::new(b"short").unwrap_err(), KeyError::Short(5));
        let key = HashKey::new(b"correct horse battery staple").unwrap();
        assert!(!format!("{key:?}").contains("horse") && key.is_lasting());
    }
}
