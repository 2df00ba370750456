//! Which requests get a copy.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, Method};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::config::{Fraction, Route, Sampling};

/// Chooses requests.
#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: Sampling,
    routes: Vec<Route>,
    seen: AtomicU64,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling, routes: Vec<Route>) -> Self {
        Self { sampling, routes, seen: AtomicU64::new(0) }
    }

    /// The route under which the request is to be mirrored, if it is.
    pub(crate) fn choose(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<&Route> {
        let route =
            self.routes.iter().find(|route| matches(route, method, path)).filter(|route| route.mirror)?;
        let fraction = route.sample.unwrap_or(self.sampling.fraction);
        (fraction == Fraction::ALL || fraction.takes(self.hash(headers))).then_some(route)
    }

    fn hash(&self, headers: &HeaderMap) -> u64 {
        let key = self.sampling.by_header.as_ref().and_then(|name| headers.get(name));
        match key {
            Some(value) => xxh3_64_with_seed(value.as_bytes(), self.sampling.seed),
            None => {
                let number = self.seen.fetch_add(1, Ordering::Relaxed);
                xxh3_64_with_seed(&number.to_le_bytes(), self.sampling.seed)
            }
        }
    }
}

fn matches(route: &Route, method: &Method, path: &str) -> bool {
    path.starts_with(&route.path_prefix) && (route.methods.is_empty() || route.methods.contains(method))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    fn sampler(fraction: &str, by_header: Option<&'static str>, routes: Vec<Route>) -> Sampler {
        let by_header = by_header.map(HeaderName::from_static);
        Sampler::new(Sampling { fraction: fraction.parse().unwrap(), by_header, seed: 7 }, routes)
    }

    #[test]
    fn the_share_stays_within_the_binomial_bound() {
        let sampler = sampler("5%", None, vec![Route::default()]);
        let none = HeaderMap::new();
        let taken = (0..100_000).filter(|_| sampler.choose(&Method::POST, "/", &none).is_some()).count();
        // Five standard deviations of Bin(100000, 0.05).
        assert!((4655..=5345).contains(&taken), "{taken}");
    }

    #[test]
    fn one_header_value_is_always_or_never_chosen_on_every_proxy() {
        let (one, two) = (
            sampler("50%", Some("x-user"), vec![Route::default()]),
            sampler("50%", Some("x-user"), vec![Route::default()]),
        );
        let mut taken = 0;
        for user in 0..1000 {
            let mut headers = HeaderMap::new();
            headers.insert("x-user", user.to_string().parse().unwrap());
            let chosen = one.choose(&Method::POST, "/", &headers).is_some();
            assert_eq!(chosen, one.choose(&Method::POST, "/", &headers).is_some());
            assert_eq!(chosen, two.choose(&Method::POST, "/", &headers).is_some());
            taken += usize::from(chosen);
        }
        assert!((420..=580).contains(&taken), "{taken}");
    }

    #[test]
    fn the_first_route_that_matches_decides() {
        let health = Route {
            name: "health".into(),
            methods: vec![],
            path_prefix: "/v2/health".into(),
            mirror: false,
            sample: None,
        };
        let sampler = sampler("100%", None, vec![health, Route::default()]);
        let none = HeaderMap::new();
        assert!(sampler.choose(&Method::POST, "/v2/health/live", &none).is_none());
        assert_eq!(sampler.choose(&Method::POST, "/v2/models/m/infer", &none).unwrap().name, "default");
        assert!(sampler.choose(&Method::GET, "/v2/models/m", &none).is_none());
    }
}
