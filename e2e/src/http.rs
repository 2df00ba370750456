//! A plain HTTP/1.1 client.

use std::time::Duration;

use serde_json::Value;

use crate::wait::DEADLINE;

/// A whole answer, whatever its status.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers in the order they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as it crossed the wire.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("status {}, {error} in: {}", self.status, self.text()))
    }
}

/// A client with its own kept connections.
#[derive(Debug, Clone)]
pub struct Client(ureq::Agent);

impl Default for Client {
    fn default() -> Self {
        Self::new(DEADLINE)
    }
}

impl Client {
    /// A client that gives up on a request after `timeout`.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(timeout))
            .build();
        Self(config.into())
    }

    /// The answer to a GET.
    ///
    /// # Errors
    /// When there is no whole answer, with the reason.
    pub fn try_get(&self, url: &str) -> Result<Answer, String> {
        self.0.get(url).call().map_err(|error| format!("{url}: {error}")).and_then(read)
    }

    /// The answer to a POST with these headers.
    ///
    /// # Errors
    /// When there is no whole answer, with the reason.
    pub fn try_post(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, String> {
        let request =
            headers.iter().fold(self.0.post(url), |request, (name, value)| request.header(*name, *value));
        request.send(body).map_err(|error| format!("{url}: {error}")).and_then(read)
    }

    /// The answer to a GET.
    ///
    /// # Panics
    /// When there is no whole answer.
    #[must_use]
    pub fn get(&self, url: &str) -> Answer {
        self.try_get(url).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The answer to a POST with these headers.
    ///
    /// # Panics
    /// When there is no whole answer.
    #[must_use]
    pub fn post(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_post(url, headers, body).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn read(response: ureq::http::Response<ureq::Body>) -> Result<Answer, String> {
    let (head, mut body) = response.into_parts();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Answer {
        status: head.status.as_u16(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
            .collect(),
        body: body.read_to_vec().map_err(|error| error.to_string())?,
    })
}
