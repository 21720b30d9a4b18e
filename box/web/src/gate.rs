//! Who gets in: for whom the request is meant, and who may ask.
//!
//! * **Host.** A page of somebody else that gets its name to point here (DNS rebinding) still says its own name in `Host`.
//!   Addresses, `localhost` and the names in the configuration are let in, nothing else.
//! * **Token.** It comes in `Authorization`, which no page of somebody else can set on a request without asking first
//!   (CORS), and nobody is ever told that it may. There are no cookies. So nobody can be made to send it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::Access;
use crate::api::Problem;

/// On every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];
const API: &str = "/api/";

pub(crate) async fn check(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match judge(&access, &request) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => refuse(status, why),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refuse(status: StatusCode, why: &str) -> Response {
    let problem = Problem {
        error: why.to_owned(),
    };
    (status, Json(problem)).into_response()
}

fn judge(access: &Access, request: &Request) -> Result<(), (StatusCode, &'static str)> {
    if !is_meant_for_us(access, request.headers()) {
        let why =
            "this name is not one of the box: use its address, or add the name to hosts in [web]";
        return Err((StatusCode::MISDIRECTED_REQUEST, why));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !request.uri().path().starts_with(API) {
        return match reads {
            true => Ok(()),
            false => Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD")),
        };
    }
    if reads && !access.reading_needs_token {
        return Ok(());
    }
    if !reads && !access.write {
        let why = "this page only shows: write = true in [web] lets it do something";
        return Err((StatusCode::FORBIDDEN, why));
    }
    match has_token(access, request.headers()) {
        true => Ok(()),
        false => Err((StatusCode::UNAUTHORIZED, "this needs the token")),
    }
}

fn is_meant_for_us(access: &Access, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    let name = without_port(host).to_ascii_lowercase();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok() || access.hosts.contains(&name)
}

/// `box:9470` and `[::1]:9470` without the port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => {
            match name.contains(':') && !name.ends_with(']') {
                true => host,
                false => name,
            }
        }
        _ => host,
    }
}

pub(crate) fn has_token(access: &Access, headers: &HeaderMap) -> bool {
    let said = headers.get(header::AUTHORIZATION);
    let said = said.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let token = access.token.as_ref();
    token
        .zip(said)
        .is_some_and(|(token, said)| token.is(said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_box_are_let_in() {
        let access = Access {
            token: None,
            reading_needs_token: false,
            write: false,
            hosts: vec!["box.example".to_owned()],
        };
        let meant = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a value"));
            is_meant_for_us(&access, &headers)
        };
        let ours = [
            "localhost",
            "LOCALHOST:9470",
            "127.0.0.1:9470",
            "[::1]:9470",
            "[::1]",
            "10.0.0.7",
            "Box.example:9470",
        ];
        for host in ours {
            assert!(meant(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9470",
            "localhost.evil.example",
            "",
            "127.0.0.1.evil.example",
            "box.example.evil",
        ] {
            assert!(!meant(host), "{host}");
        }
        assert!(!is_meant_for_us(&access, &HeaderMap::new()));
    }
}
