//! One page for people, made of the status: no script, nothing loaded from elsewhere, anew every few seconds.

use std::fmt::Write;

use serde_json::Value;

const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="3">
<meta name="viewport" content="width=device-width"><title>shadowdiff</title><style>
:root{color-scheme:light dark}
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:62rem;padding:0 1rem}
h1{font-size:1.3rem;margin:0}h2{font-size:1rem;margin:1.6rem 0 .4rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}
th{font-weight:600;border-bottom:1px solid #8886}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.alarm{border-left:4px solid #c22;padding:.3rem .7rem;margin:.4rem 0;background:#c222}
.quiet{opacity:.7}code{font-size:.92em;overflow-wrap:anywhere}
</style></head><body>
"#;

/// The page of a status.
pub(super) fn of(status: &Value) -> String {
    let mut page = Page(HEAD.to_owned());
    page.top(status);
    page.targets(status);
    page.counts(status);
    page.sampling(&status["sampling"]);
    page.runs(status);
    page.put(r#"<p class="quiet"><a href="status">status</a> · <a href="metrics">metrics</a> · <a href="sampling">sampling</a> · <a href="readyz">readyz</a></p></body></html>"#);
    page.0.push('\n');
    page.0
}

struct Page(String);

impl Page {
    fn put(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn escaped(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.put("&amp;"),
                '<' => self.put("&lt;"),
                '>' => self.put("&gt;"),
                '"' => self.put("&quot;"),
                _ => self.0.push(letter),
            }
        }
    }

    fn number(&mut self, value: &Value) {
        // Writing into a string does not fail.
        let _ = write!(self.0, "<td class=\"n\">{}</td>", value.as_u64().unwrap_or(0));
    }

    fn cell(&mut self, text: &str) {
        self.put("<td>");
        self.escaped(text);
        self.put("</td>");
    }

    fn top(&mut self, status: &Value) {
        self.put("<h1>");
        self.escaped(&text(&status["proxy"]));
        self.put("</h1><p class=\"quiet\">shadowdiff ");
        self.escaped(&text(&status["version"]));
        self.put(" · run <code>");
        self.escaped(&text(&status["run"]));
        self.put("</code> · to ");
        self.escaped(&text(&status["publisher"]["to"]));
        let seconds = micros(status, "now_us").saturating_sub(micros(status, "started_at_us")) / 1_000_000;
        let _ = write!(self.0, " · up {} h {:02} min</p>", seconds / 3600, seconds / 60 % 60);
        let mut alarms: Vec<String> = list(&status["alarms"]).iter().map(text).collect();
        if status["draining"] == true {
            alarms.push("stopping: no new connections are accepted".into());
        }
        if status["publisher"]["connected"] == false {
            alarms.push("the publisher cannot reach its far end: exchanges are held".into());
        }
        for alarm in alarms {
            self.put("<p class=\"alarm\">");
            self.escaped(&alarm);
            self.put("</p>");
        }
    }

    fn targets(&mut self, status: &Value) {
        self.put("<h2>Targets</h2><table><tr><th>target</th><th>node</th><th>labels</th><th class=\"n\">in flight</th></tr>");
        let shadows = list(&status["shadows"]);
        for target in std::iter::once(&status["primary"]).chain(shadows) {
            for node in list(&target["nodes"]) {
                self.put("<tr>");
                self.cell(&text(&target["name"]));
                self.cell(&text(&node["node"]));
                let passed_over =
                    if node["passed_over"] == true { " (passed over: it keeps failing)" } else { "" };
                self.cell(&(pairs(&node["labels"]) + passed_over));
                self.number(&node["inflight"]);
                self.put("</tr>");
            }
        }
        self.put("</table><h2>Copies</h2><table><tr><th>shadow</th><th class=\"n\">mirrored</th><th class=\"n\">received</th><th>ended</th><th>answers</th></tr>");
        for shadow in shadows {
            self.put("<tr>");
            self.cell(&text(&shadow["name"]));
            self.number(&shadow["mirrored"]);
            self.number(&shadow["received"]);
            self.cell(&pairs(&shadow["ended"]));
            self.cell(&pairs(&shadow["answers"]));
            self.put("</tr>");
        }
        self.put("</table>");
    }

    fn counts(&mut self, status: &Value) {
        self.put("<h2>Exchanges</h2><table>");
        let under_way = &status["under_way"];
        let bounded = |used: &str, limit: &str| format!("{} of {}", under_way[used], under_way[limit]);
        for (name, value) in [
            ("clients answered", pairs(&status["responses"])),
            ("mirrored", text(&status["mirrored"])),
            ("ended", text(&status["ended"])),
            ("delivered", text(&status["delivered"])),
            ("in the spool", text(&status["spooled"])),
            ("waiting for the publisher", text(&status["waiting"])),
            ("dropped", pairs(&status["dropped_by_reason"])),
            ("kept from being mirrored", pairs(&status["skipped"])),
            ("under way", bounded("exchanges", "exchanges_limit")),
            ("bytes held", bounded("bytes", "bytes_limit")),
        ] {
            self.row(name, &value);
        }
        self.put("</table>");
    }

    fn sampling(&mut self, sampling: &Value) {
        self.put("<h2>Sampling</h2><table>");
        let Value::Object(fields) = sampling else { return };
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match (name.as_str(), value) {
                ("routes", routes) => {
                    for route in list(routes) {
                        self.row("route", &route.to_string());
                    }
                }
                (name, value @ Value::Object(_)) => self.row(name, &pairs(value)),
                (name, value) => self.row(name, &text(value)),
            }
        }
        self.put("</table>");
    }

    fn runs(&mut self, status: &Value) {
        self.put("<h2>Open runs</h2><table><tr><th>run</th><th class=\"n\">mirrored</th><th class=\"n\">ended</th><th class=\"n\">delivered</th><th class=\"n\">dropped</th></tr>");
        for run in list(&status["open_runs"]) {
            self.put("<tr>");
            self.cell(&text(&run["run"]));
            for count in ["mirrored", "ended", "delivered", "dropped"] {
                self.number(&run[count]);
            }
            self.put("</tr>");
        }
        self.put("</table>");
    }

    fn row(&mut self, name: &str, value: &str) {
        self.put("<tr>");
        self.cell(name);
        self.put("<td><code>");
        self.escaped(value);
        self.put("</code></td></tr>");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn micros(status: &Value, key: &str) -> i64 {
    status[key].as_i64().unwrap_or(0)
}

/// `name value, name value`, without those that are 0; a dash where nothing is left.
fn pairs(value: &Value) -> String {
    let Value::Object(fields) = value else { return "–".into() };
    let shown: Vec<String> = fields
        .iter()
        .filter(|(_, value)| value.as_u64() != Some(0))
        .map(|(name, value)| format!("{name} {}", text(value)))
        .collect();
    if shown.is_empty() { "–".into() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_page_shows_what_the_status_says_and_nothing_of_it_is_markup() {
        let status = json!({
            "proxy": "<script>alert(1)</script>", "run": "r&1", "version": "1", "draining": true,
            "started_at_us": 0, "now_us": 3_720_000_000_i64,
            "alarms": ["candidate has received nothing"],
            "publisher": {"to": "kafka \"k\"", "connected": false},
            "primary": {"name": "primary", "nodes": [{"node": "a:1", "inflight": 3, "passed_over": true, "labels": {"gpu": "L4"}}]},
            "shadows": [{"name": "candidate", "nodes": [], "mirrored": 7, "received": 6,
                "ended": {"refused": 1}, "answers": {"2xx": 6, "5xx": 0}}],
            "dropped_by_reason": {"queue_full": 2, "delivery_failed": 0},
            "skipped": {"route": 5},
            "under_way": {"exchanges": 1, "exchanges_limit": 8, "bytes": 10, "bytes_limit": 99},
            "sampling": {"sample": 0.05, "max_per_second": null, "copies": {"candidate": 1.0}, "routes": [{"name": "infer"}]},
            "open_runs": [{"run": "r&1", "mirrored": 7}],
        });
        let page = of(&status);
        assert!(!page.contains("<script"), "{page}");
        for wanted in [
            "&lt;script&gt;alert(1)",
            "r&amp;1",
            "kafka &quot;k&quot;",
            "up 1 h 02 min",
            "<p class=\"alarm\">candidate has received nothing",
            "stopping",
            "cannot reach",
            "gpu L4 (passed over",
            "<td class=\"n\">3</td>",
            "2xx 6</td>",
            "queue_full 2<",
            "1 of 8",
            "sample</td><td><code>0.05",
            "candidate 1.0",
            "{&quot;name&quot;:&quot;infer&quot;}",
        ] {
            assert!(page.contains(wanted), "{wanted} in {page}");
        }
        for unwanted in ["5xx", "max_per_second", "://", "src="] {
            assert!(!page.contains(unwanted), "{unwanted} in {page}");
        }
    }

    #[test]
    fn a_page_of_nothing_is_a_page() {
        assert!(of(&Value::Null).ends_with("</html>\n"));
    }
}
