//! What can be asked over HTTP: the questions of the control socket.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::{IntoParams, ToSchema};
use windlass_daemon::control::{
    self, Answer, AskError, EventsReport, FlowNow, Request, TrialsReport,
};
use windlass_daemon::view::{AlgorithmReport, FlowFilter, Order, ViewQuery, ViewReport};
use windlass_daemon::{ExplainReport, OverviewReport, RuleReport};

use crate::gate::{self, has_token};
use crate::{Access, openapi, page};

/// Longest body of a request, bytes.
const BODY_MAX_BYTES: usize = 4096;
/// Rows of flows, if nobody says how many.
const ROWS: u64 = 100;

/// Everything that answers are made of.
#[derive(Clone)]
pub(crate) struct Daemon {
    control: Arc<PathBuf>,
    access: Arc<Access>,
}

/// Why there is no answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// In words.
    pub error: String,
}

type Refusal = (StatusCode, Json<Problem>);
type Answered<T> = Result<Json<T>, Refusal>;

fn refusal(status: StatusCode, error: impl ToString) -> Refusal {
    let error = error.to_string();
    (status, Json(Problem { error }))
}

impl Daemon {
    async fn ask(&self, request: Request) -> Result<Answer, Refusal> {
        let control = Arc::clone(&self.control);
        let asked = spawn_blocking(move || control::ask(&control, request)).await;
        let asked = asked.map_err(|e| refusal(StatusCode::INTERNAL_SERVER_ERROR, e))?;
        asked.map_err(|error| match error {
            AskError::Refused(why) => refusal(StatusCode::CONFLICT, why),
            other => refusal(StatusCode::SERVICE_UNAVAILABLE, other),
        })
    }
}

fn unexpected(_: Answer) -> Refusal {
    refusal(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the daemon answers something else",
    )
}

/// Everything that is served.
pub(crate) fn service(control: PathBuf, access: Access) -> Router {
    let access = Arc::new(access);
    let daemon = Daemon {
        control: Arc::new(control),
        access: Arc::clone(&access),
    };
    let api = Router::new()
        .route("/api/v1/about", get(about))
        .route("/api/v1/overview", get(overview))
        .route("/api/v1/flows", get(flows))
        .route("/api/v1/flow", get(flow))
        .route("/api/v1/algorithms", get(algorithms))
        .route("/api/v1/rules", get(rules))
        .route("/api/v1/explain", get(explain))
        .route("/api/v1/guard", get(guard))
        .route("/api/v1/trials", get(trials))
        .route("/api/v1/events", get(events))
        .route("/api/v1/bypass", post(bypass))
        .with_state(daemon);
    api.route(
        "/api/openapi.json",
        get(|| async { Json(openapi::description()) }),
    )
    .merge(page::routes())
    .fallback(nowhere)
    .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
    .layer(middleware::from_fn_with_state(access, gate::check))
}

async fn nowhere() -> Response {
    refusal(StatusCode::NOT_FOUND, "there is nothing here").into_response()
}

/// What the page may do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct About {
    /// Bypass can be turned on and off, with the token.
    write: bool,
    /// Reading needs the token, too.
    reading_needs_token: bool,
    /// This request has the token.
    has_token: bool,
    /// The version of the program.
    version: &'static str,
}

/// What the page may do.
#[utoipa::path(get, path = "/api/v1/about", responses((status = 200, body = About)))]
pub(crate) async fn about(State(daemon): State<Daemon>, headers: HeaderMap) -> Json<About> {
    let access = &daemon.access;
    Json(About {
        write: access.write,
        reading_needs_token: access.reading_needs_token,
        has_token: has_token(access, &headers),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// The box at a glance: its state, what it has carried, why packets passed, its workers.
#[utoipa::path(get, path = "/api/v1/overview", responses(
    (status = 200, body = OverviewReport), (status = 503, body = Problem)))]
pub(crate) async fn overview(State(daemon): State<Daemon>) -> Answered<OverviewReport> {
    match daemon.ask(Request::Overview).await? {
        Answer::Overview(report) => Ok(Json(*report)),
        other => Err(unexpected(other)),
    }
}

/// Which flows, and in which order.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FlowsQuery {
    /// Only those that this rule governs.
    rule: Option<String>,
    /// Only those whose receiver has this address, or one of this prefix.
    client: Option<String>,
    /// Only those that this limits: sender, cwnd, pacing, tenant, receiver, guess.
    limited_by: Option<String>,
    /// Only those that something other than their sender limits, and that are slower than this, bit/s.
    slow_bps: Option<u64>,
    /// By what they are in order.
    order: Order,
    /// The other way around.
    reversed: bool,
    /// Rows that are left out before the first.
    offset: u64,
    /// Rows that are wanted, 500 at most.
    rows: u64,
}

impl Default for FlowsQuery {
    fn default() -> Self {
        FlowsQuery {
            rule: None,
            client: None,
            limited_by: None,
            slow_bps: None,
            order: Order::Rate,
            reversed: false,
            offset: 0,
            rows: ROWS,
        }
    }
}

/// The flows in order, a part of them.
#[utoipa::path(get, path = "/api/v1/flows", params(FlowsQuery), responses(
    (status = 200, body = ViewReport), (status = 400, body = Problem), (status = 409, body = Problem),
    (status = 503, body = Problem)))]
pub(crate) async fn flows(
    State(daemon): State<Daemon>,
    query: Result<Query<FlowsQuery>, QueryRejection>,
) -> Answered<ViewReport> {
    let query = understood(query)?;
    let filter = FlowFilter {
        rule: query.rule,
        client: query.client,
        limited_by: query.limited_by,
        slow_bps: query.slow_bps,
    };
    filter
        .check()
        .map_err(|e| refusal(StatusCode::BAD_REQUEST, e))?;
    let query = ViewQuery {
        filter,
        order: query.order,
        reversed: query.reversed,
        offset: query.offset,
        rows: query.rows,
    };
    match daemon.ask(Request::View(query)).await? {
        Answer::View(report) => Ok(Json(report)),
        other => Err(unexpected(other)),
    }
}

fn understood<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    match query {
        Ok(Query(query)) => Ok(query),
        Err(wrong) => Err(refusal(StatusCode::BAD_REQUEST, wrong.body_text())),
    }
}

/// A flow.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FlowQuery {
    /// Its name: `10.0.0.1:443>192.0.2.7:5555`.
    flow: String,
}

/// One flow as it is at this moment.
#[utoipa::path(get, path = "/api/v1/flow", params(FlowQuery), responses(
    (status = 200, body = FlowNow), (status = 409, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn flow(
    State(daemon): State<Daemon>,
    query: Result<Query<FlowQuery>, QueryRejection>,
) -> Answered<FlowNow> {
    let FlowQuery { flow } = understood(query)?;
    match daemon.ask(Request::Flow { flow }).await? {
        Answer::Flow(now) => Ok(Json(*now)),
        other => Err(unexpected(other)),
    }
}

/// The algorithms beside each other.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Algorithms {
    /// All that drive a flow, by name.
    algorithms: Vec<AlgorithmReport>,
}

/// The algorithms beside each other, by the flows that they drive now.
#[utoipa::path(get, path = "/api/v1/algorithms", responses(
    (status = 200, body = Algorithms), (status = 409, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn algorithms(State(daemon): State<Daemon>) -> Answered<Algorithms> {
    match daemon.ask(Request::Algorithms).await? {
        Answer::Algorithms { algorithms } => Ok(Json(Algorithms { algorithms })),
        other => Err(unexpected(other)),
    }
}

/// The rules in charge.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Rules {
    /// All of them, in order.
    rules: Vec<RuleReport>,
}

/// The rules in charge.
#[utoipa::path(get, path = "/api/v1/rules", responses(
    (status = 200, body = Rules), (status = 503, body = Problem)))]
pub(crate) async fn rules(State(daemon): State<Daemon>) -> Answered<Rules> {
    match daemon.ask(Request::Rules).await? {
        Answer::Rules { rules } => Ok(Json(Rules { rules })),
        other => Err(unexpected(other)),
    }
}

/// What is to be explained.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExplainQuery {
    /// The flow, from the sender of the data to its receiver.
    flow: String,
    /// Side of the sender: `inside` (if nothing is said) or `outside`.
    sender: Option<String>,
}

/// What the rules say of a flow, and why.
#[utoipa::path(get, path = "/api/v1/explain", params(ExplainQuery), responses(
    (status = 200, body = ExplainReport), (status = 409, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn explain(
    State(daemon): State<Daemon>,
    query: Result<Query<ExplainQuery>, QueryRejection>,
) -> Answered<ExplainReport> {
    let query = understood(query)?;
    let sender = query.sender.unwrap_or_else(|| "inside".to_owned());
    let flow = query.flow;
    match daemon.ask(Request::Explain { flow, sender }).await? {
        Answer::Explained(report) => Ok(Json(report)),
        other => Err(unexpected(other)),
    }
}

/// What the guard has found, as `windlass guard show -j` shows it; 409 without a guard.
#[utoipa::path(get, path = "/api/v1/guard", responses(
    (status = 200, body = serde_json::Value), (status = 409, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn guard(State(daemon): State<Daemon>) -> Answered<serde_json::Value> {
    match daemon.ask(Request::Guard { hours: 0 }).await? {
        Answer::Guard(report) => match serde_json::to_value(report) {
            Ok(report) => Ok(Json(report)),
            Err(e) => Err(refusal(StatusCode::INTERNAL_SERVER_ERROR, e)),
        },
        other => Err(unexpected(other)),
    }
}

/// What is tried: the trial that runs, what rules with `algorithm = "auto"` have tried, and what is believed of prefixes.
#[utoipa::path(get, path = "/api/v1/trials", responses(
    (status = 200, body = TrialsReport), (status = 503, body = Problem)))]
pub(crate) async fn trials(State(daemon): State<Daemon>) -> Answered<TrialsReport> {
    match daemon.ask(Request::Trials).await? {
        Answer::Trials(report) => Ok(Json(report)),
        other => Err(unexpected(other)),
    }
}

/// From where on.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// The number of the last event that is known; 0: all that are remembered.
    after: u64,
}

/// What has happened after an event.
#[utoipa::path(get, path = "/api/v1/events", params(EventsQuery), responses(
    (status = 200, body = EventsReport), (status = 400, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn events(
    State(daemon): State<Daemon>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Answered<EventsReport> {
    let EventsQuery { after } = understood(query)?;
    match daemon.ask(Request::Events { after }).await? {
        Answer::Events(report) => Ok(Json(report)),
        other => Err(unexpected(other)),
    }
}

/// Whether every flow is to pass untouched.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bypass {
    /// It is on.
    on: bool,
}

/// Turns all enforcement off, or on again for new connections. Needs the token, and `write = true`.
#[utoipa::path(post, path = "/api/v1/bypass", request_body = Bypass, security(("token" = [])), responses(
    (status = 200, body = Bypass), (status = 400, body = Problem), (status = 401, body = Problem),
    (status = 403, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn bypass(
    State(daemon): State<Daemon>,
    body: Result<Json<Bypass>, JsonRejection>,
) -> Answered<Bypass> {
    let wrong = |e: JsonRejection| refusal(e.status(), e.body_text());
    let Json(Bypass { on }) = body.map_err(wrong)?;
    match daemon.ask(Request::Bypass { on }).await? {
        Answer::Bypass { on } => Ok(Json(Bypass { on })),
        other => Err(unexpected(other)),
    }
}
