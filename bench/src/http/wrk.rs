//! The same requests from a client that we did not write: [wrk](https://github.com/wg/wrk), as Debian has
//! it. Used by `http`.
//!
//! It takes more of the machine than `load` does, for every server alike, and reads every answer as HTTP.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// Result of one run.
pub struct Asked {
    pub per_second: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
}

/// Has one thread of wrk ask as often as it can. Ids begin with `run`, which is another one every time.
pub fn ask(address: SocketAddr, connections: usize, run: usize, time: Duration) -> Result<Asked> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("ask.lua");
    std::fs::write(&script, text(connections, run))?;
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--latency", "--connections", &connections.to_string()]);
    command.arg("--duration").arg(format!("{}s", time.as_secs().max(1)));
    command.arg("--script").arg(&script).arg(format!("http://{address}/v1/openharness"));
    let output = command.output().context("cannot start `wrk`: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "wrk failed: {}", String::from_utf8_lossy(&output.stderr));
    ensure!(
        !text.contains("Non-2xx") && !text.contains("Socket errors"),
        "not all went well: {text}"
    );
    read(&text).with_context(|| format!("wrk says something else than it used to: {text}"))
}

/// Script for wrk: as [`Template`](super::load) does, each request in the next session.
fn text(sessions: usize, run: usize) -> String {
    format!(
        r#"local body = '{{"protocol_version":"1.0.0","request_id":"wrk-{run}-%011d","request":{{"context":{{' ..
  '"session_id":"http-%04d","user_intent":"help","shell":{{"shell_kind":"bench"}}}}}}}}'
local asked = 0
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
function request()
  asked = asked + 1
  return wrk.format(nil, nil, nil, body:format(asked, asked % {sessions}))
end
"#
    )
}

fn read(text: &str) -> Result<Asked> {
    let after = |word: &str| -> Result<&str> {
        let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(word));
        Ok(lines.next().with_context(|| format!("no `{word}`"))?.trim())
    };
    Ok(Asked {
        per_second: after("Requests/sec:")?.parse()?,
        p50: milliseconds(after("50%")?)?,
        p99: milliseconds(after("99%")?)?,
    })
}

/// A time as wrk writes it.
fn milliseconds(text: &str) -> Result<f64> {
    let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
    let number: f64 = text[..text.len() - unit.len()].parse()?;
    Ok(match unit {
        "us" => number / 1e3,
        "ms" => number,
        "s" => number * 1e3,
        _ => bail!("a time in `{unit}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_words_of_wrk_are_understood() {
        let text = "Running 5s test @ http://127.0.0.1:1/\n  Latency Distribution\n     50%  970.00us\n     \
                    75%   13.01ms\n     99%    1.10s \n  95000 requests in 5.00s\nRequests/sec:  19000.50\n";
        let asked = read(text).unwrap();
        assert_eq!((asked.per_second, asked.p50, asked.p99), (19_000.5, 0.97, 1_100.0));
        assert!(read("Requests/sec: 1\n").is_err());
    }
}
