//! As much of HTTP/1.1 (RFC 9112) as a scraper needs: one request, one answer, and the end of the connection.

use std::io::{self, Read};

use super::Format;

/// Longest head of a request, bytes.
const HEAD_MAX_BYTES: usize = 8192;
/// Most header fields of a request.
const FIELDS_MAX: usize = 64;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The metrics; without the body if only the head is wanted.
    Metrics { format: Format, head_only: bool },
    /// Something else, which is answered with this status and sentence.
    Refused(&'static str, &'static str),
}

/// Reads one request.
///
/// # Errors
/// The connection's; also when it ends before the request does.
pub(super) fn read(mut from: impl Read) -> io::Result<Request> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let count = from.read(&mut part)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&part[..count]);
        if let Some(request) = parse(&head) {
            return Ok(request);
        }
    }
}

/// The request that begins with these bytes; `None`: it goes on.
fn parse(head: &[u8]) -> Option<Request> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if head.len() < HEAD_MAX_BYTES => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(Request::Refused(
                "431 Request Header Fields Too Large",
                "the request is too long",
            ));
        }
        Err(_) => {
            return Some(Request::Refused(
                "400 Bad Request",
                "this is no HTTP request",
            ));
        }
    }
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    Some(match (request.method.unwrap_or_default(), path) {
        (method @ ("GET" | "HEAD"), "/metrics") => Request::Metrics {
            format: wanted(request.headers),
            head_only: method == "HEAD",
        },
        (_, "/metrics") => Request::Refused("405 Method Not Allowed", "only GET and HEAD"),
        _ => Request::Refused("404 Not Found", "metrics are at /metrics"),
    })
}

/// The format that the scraper likes best; Prometheus text if it does not say.
fn wanted(fields: &[httparse::Header<'_>]) -> Format {
    let accept = fields
        .iter()
        .filter(|f| f.name.eq_ignore_ascii_case("accept"));
    let accept = accept.filter_map(|f| std::str::from_utf8(f.value).ok());
    let (mut open, mut plain) = (0.0f32, 0.0f32);
    for range in accept.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let quality = parts.find_map(|p| p.strip_prefix("q=")?.parse().ok());
        let quality: f32 = quality.unwrap_or(1.0);
        match kind.to_ascii_lowercase().as_str() {
            "application/openmetrics-text" => open = open.max(quality),
            "text/plain" | "text/*" | "*/*" => plain = plain.max(quality),
            _ => {}
        }
    }
    match open > plain {
        true => Format::OpenMetrics,
        false => Format::Prometheus,
    }
}

/// The head of an answer.
pub(super) fn head(status: &str, content_type: &str, length: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(accept: &str) -> Format {
        let text = format!("GET /metrics HTTP/1.1\r\nHost: w\r\nAccept: {accept}\r\n\r\n");
        match parse(text.as_bytes()) {
            Some(Request::Metrics { format, .. }) => format,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_scraper_gets_the_format_that_it_likes_best() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(format(prometheus), Format::OpenMetrics);
        let other = "application/openmetrics-text;q=0.2, text/plain;q=0.4";
        assert_eq!(format(other), Format::Prometheus);
        assert_eq!(format("*/*"), Format::Prometheus);
        assert_eq!(format("application/openmetrics-text"), Format::OpenMetrics);
    }

    #[test]
    fn what_is_no_scrape_is_refused() {
        let status = |text: &str| match parse(text.as_bytes()) {
            Some(Request::Refused(status, _)) => status[..3].to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("\u{1}\u{2}\r\n\r\n"), "400");
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(HEAD_MAX_BYTES));
        assert_eq!(status(&long), "431");
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHo"), "None");
        let metrics = Request::Metrics {
            format: Format::Prometheus,
            head_only: true,
        };
        assert_eq!(parse(b"HEAD /metrics?a=b HTTP/1.0\r\n\r\n"), Some(metrics));
    }
}
