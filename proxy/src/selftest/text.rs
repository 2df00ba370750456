//! Findings for people.

use std::fmt;

use super::{Findings, LegFindings, NodeFindings};

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for leg in &self.legs {
            leg.fmt(f)?;
        }
        writeln!(f, "self-test {}", if self.ok { "passed" } else { "FAILED" })
    }
}

impl fmt::Display for LegFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({}): {}", self.target, self.role, if self.ok { "ok" } else { "FAILED" })?;
        if self.nodes.is_empty() {
            writeln!(f, "  no node: its name resolves to nothing")?;
        }
        for node in &self.nodes {
            node.fmt(f)?;
        }
        let Some(received) = &self.received else { return Ok(()) };
        writeln!(f, "  what it receives (seen on a loop-back address):")?;
        writeln!(f, "    {} {} {}", received.method, received.path, received.http)?;
        for (name, value) in &received.headers {
            writeln!(f, "    {name}: {value}")?;
        }
        writeln!(f, "    ({} bytes of body)", received.body_bytes)
    }
}

impl fmt::Display for NodeFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} {}: {} -> ", if self.ok { "ok  " } else { "FAIL" }, self.node, self.asked)?;
        let milliseconds = self.latency_us as f64 / 1000.0;
        if let Some(status) = self.status {
            write!(f, "{status} in {milliseconds:.1} ms")?;
        }
        for part in [&self.http, &self.error].into_iter().flatten() {
            write!(f, "{}{part}", if self.status.is_some() { ", " } else { "" })?;
        }
        if let Some(address) = self.address {
            write!(f, ", {address}")?;
        }
        match &self.tls {
            Some(tls) => {
                let verified = if tls.verified { "verified" } else { "NOT VERIFIED" };
                write!(f, ", {} ({verified}, alpn {})", tls.version, tls.alpn.as_deref().unwrap_or("none"))?;
            }
            None if self.status.is_some() => write!(f, ", no TLS")?,
            None => {}
        }
        writeln!(f)?;
        match &self.answer {
            Some(answer) => writeln!(f, "       answer: {answer}"),
            None => Ok(()),
        }
    }
}
