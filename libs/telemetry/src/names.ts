/**
 * The telemetry schema: every name that dashboards, alerts and searches use. `docs/telemetry.md` is generated from it. Metric and label
 * names follow the OpenTelemetry semantic conventions where these have a name, in Prometheus' spelling.
 */
import { counter, gauge, histogram } from './instruments.ts'

/** Names of metric labels. */
export const label = {
  method: 'http_request_method',
  route: 'http_route',
  status: 'http_response_status_code',
  service: 'service',
  audience: 'audience',
  source: 'source',
  reason: 'reason',
  queue: 'queue',
  state: 'state',
  outcome: 'outcome',
  version: 'version',
  nodeVersion: 'node_version',
  gcType: 'v8js_gc_type',
  heapSpace: 'v8js_heap_space_name',
} as const

export const labelMeaning: Record<(typeof label)[keyof typeof label], string> = {
  http_request_method: 'method of the request, upper case',
  http_route: 'route template (`/channels/:channelId/messages`), never the path',
  http_response_status_code: 'status of the response',
  service: 'name of the process or service',
  audience: 'kind of audience of an event',
  source: 'where replayed events were read',
  reason: 'why a stream or connection ended',
  queue: 'name of the job queue',
  state: 'state of the job or connection',
  outcome: 'whether the work succeeded',
  version: 'version of Parley',
  node_version: 'version of Node.js',
  v8js_gc_type: '`major`, `minor`, `incremental` or `weakcb`',
  v8js_heap_space_name: 'part of the heap, such as `old_space`',
}

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const jobSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300]
const outcomes = ['completed', 'failed'] as const
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** Every metric. Services record it with `metrics.counter(metric.…)`, `.histogram(…)` or `.gauge(…)`. */
export const metric = {
  requestDuration: histogram(
    'http_server_request_duration_seconds',
    'Time from the arrival of a request to the end of its response. Its count by status gives the rates of requests and errors. Event ' +
      'streams and health checks are left out.',
    requestSeconds,
    [label.method, label.route, label.status],
  ),
  rateLimitUnavailable: counter(
    'parley_rate_limit_unavailable_total',
    'Requests allowed without a rate limit because Redis did not answer.',
  ),
  clientsCut: counter(
    'parley_clients_cut_total',
    'Connections ended because the client was too slow: `slow_body`, `unread_reply` (the client read nothing for a while), ' +
      '`unread_bytes` (too many unread bytes for one person).',
    { [label.reason]: ['slow_body', 'unread_reply', 'unread_bytes'] },
  ),
  connectionsRefused: counter(
    'parley_connections_refused_total',
    'Connections closed at once because the process had no file descriptors left.',
  ),
  sendBatchSize: histogram('parley_send_batch_size', 'Messages that one shared send statement stored.', batchSizes),
  databaseConnections: gauge('parley_database_connections', 'Connections of the PostgreSQL pool.', [label.state]),
  outboxDepth: gauge('parley_outbox_depth', 'Committed outbox rows that have no position yet.'),
  outboxRotationOverdue: gauge(
    'parley_outbox_rotation_overdue_seconds',
    'How long the removal of the oldest events from the outbox is overdue; 0 when it is not due.',
  ),
  outboxLag: gauge(
    'parley_outbox_lag_seconds',
    'Age of the oldest outbox row that has no position yet; 0 when there is none.',
  ),
  searchLag: gauge(
    'parley_search_lag_seconds',
    'Age of the oldest event that is not in the search projection yet. Searches read the missing messages one by one.',
  ),
  searchRebuilding: gauge(
    'parley_search_rebuilding',
    '1 while old messages are added to the search projection, else 0. Searches are slow meanwhile.',
  ),
  searchDuration: histogram('parley_search_duration_seconds', 'Time of a search in the database.', requestSeconds),
  relayLeader: gauge('parley_relay_leader', '1 while this process holds the relay’s lease, else 0.'),
  eventsRelayed: counter('parley_events_relayed_total', 'Events given a position and published by this process.'),
  ephemeralDropped: counter(
    'parley_ephemeral_dropped_total',
    'Ephemeral events (typing) that were lost because Redis did not answer.',
  ),
  streamsOpen: gauge('parley_streams_open', 'Event streams open on this node.'),
  streamsEnded: counter('parley_streams_ended_total', 'Event streams that ended.', {
    [label.reason]: ['client', 'session', 'role', 'slow', 'reset', 'drain', 'replaced', 'gone', 'failed'],
  }),
  deliveries: counter('parley_deliveries_total', 'Events written to streams, counted once for each stream.', {
    [label.audience]: ['everyone', 'nobody', 'users', 'channel', 'outsiders'],
  }),
  presenceUpdates: counter(
    'parley_presence_updates_total',
    'Presence updates written to streams, counted once for each person and stream.',
  ),
  deliveryLag: histogram(
    'parley_delivery_lag_seconds',
    'Time from the recording of an event to its delivery to the streams of this node. Measured once for each batch of the relay, for ' +
      'its oldest event.',
    requestSeconds,
  ),
  deliveryWaiting: gauge(
    'parley_delivery_waiting_seconds',
    'How long the oldest event that a stream of this node has not received yet has waited; 0 when there is none. It also rises while ' +
      'nothing is delivered, when `parley_delivery_lag_seconds` has no new values.',
  ),
  eventsReplayed: counter(
    'parley_events_replayed_total',
    'Events replayed to streams that resume, or to fill a hole in the feed.',
    {
      [label.source]: ['memory', 'redis', 'postgresql'],
    },
  ),
  queueDepth: gauge(
    'parley_queue_depth',
    'Jobs in a queue: `recorded` (only in PostgreSQL), `wait`, `active`, `delayed` until their next attempt, `dead` (failed in all attempts).',
    [label.queue, label.state],
  ),
  jobs: counter('parley_jobs_total', 'Jobs done.', { [label.queue]: null, [label.outcome]: outcomes }),
  jobDuration: histogram('parley_job_duration_seconds', 'Running time of a job.', jobSeconds, [
    label.queue,
    label.outcome,
  ]),
  passwordDerivations: counter(
    'parley_password_derivations_total',
    'Passwords hashed or compared with scrypt. `failed`: requests refused with 503, because too many were waiting.',
    { [label.outcome]: outcomes },
  ),
  cpuSeconds: counter('process_cpu_seconds_total', 'Processor time of the process, user and system.'),
  residentMemory: gauge('process_resident_memory_bytes', 'Resident memory of the process.'),
  openFiles: gauge('process_open_fds', 'Open file descriptors, sockets included. Linux only.'),
  maxFiles: gauge('process_max_fds', 'How many file descriptors the process may open. Linux only.'),
  startTime: gauge('process_start_time_seconds', 'When the process started, as Unix time.'),
  observationFailures: counter(
    'parley_metrics_observation_failures_total',
    'Gauges that could not be read at a scrape, because their source did not answer.',
  ),
  serviceInfo: gauge('parley_service_info', 'Always 1. Its labels name the service and its versions.', [
    label.service,
    label.version,
    label.nodeVersion,
  ]),
} as const

/** Metrics of OpenTelemetry's runtime instrumentation, with its names. */
const runtimeMetric = {
  eventLoopDelayP50: gauge(
    'nodejs_eventloop_delay_p50',
    'Time between two ticks of a 10 ms timer, in seconds, since the last scrape. The part above 0.01 is delay. Median.',
  ),
  eventLoopDelayP90: gauge('nodejs_eventloop_delay_p90', 'The same, 90th percentile.'),
  eventLoopDelayP99: gauge('nodejs_eventloop_delay_p99', 'The same, 99th percentile.'),
  eventLoopDelayMax: gauge('nodejs_eventloop_delay_max', 'The same, maximum.'),
  eventLoopUtilization: gauge(
    'nodejs_eventloop_utilization',
    'Share of time in which the event loop was busy, 0 to 1.',
  ),
  gcDuration: histogram(
    'v8js_gc_duration',
    'Duration of garbage collections, in seconds.',
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    [label.gcType],
  ),
  heapUsed: gauge('v8js_memory_heap_used', 'Used memory of the JavaScript heap, in bytes.', [label.heapSpace]),
} as const

/** Every metric at /metrics: those that our code records and those of the runtime. */
export const everyMetric = { ...metric, ...runtimeMetric } as const

/** Names of our own spans. The instrumentations name the spans of requests, statements and commands. */
export const spanName = {
  sendBatch: 'messaging.send_batch',
  relayEvent: 'relay.publish',
  appendBatch: 'relay.append',
  deliverEvent: 'realtime.deliver',
  runJob: 'worker.job',
} as const

export const spanMeaning: Record<(typeof spanName)[keyof typeof spanName], string> = {
  'messaging.send_batch': 'one shared send statement, linked to the sends in it',
  'relay.publish': 'an event on its way from outbox to Redis; child of the request that recorded it',
  'relay.append':
    'a batch of events on its way into Redis; child of the first event’s `relay.publish`, linked to the others',
  'realtime.deliver':
    'an event written to the streams of one node; child of its `relay.publish`, or of the request when the node read the event from PostgreSQL',
  'worker.job': 'a job; child of the request that recorded it',
}

/** Names of span attributes: our own, and those of the semantic conventions that we set or remove. */
export const spanAttribute = {
  urlFull: 'url.full',
  urlPath: 'url.path',
  urlQuery: 'url.query',
  clientAddress: 'client.address',
  peerAddress: 'network.peer.address',
  eventType: 'parley.event.type',
  eventPosition: 'parley.event.position',
  channelId: 'parley.channel.id',
  batchSize: 'parley.batch.size',
  deliveries: 'parley.deliveries',
  queue: 'parley.queue',
} as const

export const spanAttributeMeaning: Record<(typeof spanAttribute)[keyof typeof spanAttribute], string> = {
  'url.full': 'URL of an outgoing request, without its query',
  'url.path': 'path of an incoming request, without its query',
  'url.query': 'never recorded: queries carry tokens and what people search for',
  'client.address': 'never recorded',
  'network.peer.address': 'recorded for outgoing requests only',
  'parley.event.type': 'name of the event on the wire, such as `NEW_MESSAGE`',
  'parley.event.position': 'position of the event',
  'parley.channel.id': 'id of the channel or conversation',
  'parley.batch.size': 'number of items in the batch',
  'parley.deliveries': 'number of streams to which the event was written',
  'parley.queue': 'name of the job queue',
}

/** Fields of every log line. */
export const logField = { service: 'service', traceId: 'trace_id', spanId: 'span_id' } as const

export const logFieldMeaning: Record<(typeof logField)[keyof typeof logField], string> = {
  service: 'service that wrote the line',
  trace_id: 'active trace, 32 hexadecimal digits; absent without one',
  span_id: 'active span, 16 hexadecimal digits',
}
