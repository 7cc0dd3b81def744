import { Type } from 'typebox'
import { HttpUrls, Networks, Origins, Switch, Text, WholeNumber } from './values.schema.ts'

export const Log = Type.Object({
  level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    description: 'The least severe level that is logged.',
    default: 'info',
  }),
  access: Switch({
    description:
      'The gateway logs one line for each request, with the address of the client; see [the access log](administration.md#the-access-log).',
    default: false,
  }),
})

export const Server = Type.Object({
  host: Text({ description: 'Address to listen on.', default: '127.0.0.1', usual: 'HOST' }),
  port: WholeNumber(0, 65_535, { description: 'Port to listen on; 0 picks a free one.', default: 3000, usual: 'PORT' }),
  allowedOrigins: Origins({
    description: 'Origins whose pages may call the API (CORS).',
    derived: '<origin of auth.appUrl>',
  }),
  trustedProxies: Networks({ description: 'Proxies whose `X-Forwarded-For` is believed.', default: [] }),
  reusePort: Switch({ description: 'Several processes may listen on the same port (SO_REUSEPORT).', default: false }),
  bodyLimitBytes: WholeNumber(1024, 104_857_600, {
    description: 'Largest request body, except where a route sets its own limit (uploads).',
    default: 1_048_576,
  }),
  continueTraces: Type.Enum(['inside', 'always', 'never'], {
    description:
      'Which `traceparent` headers are continued. `inside`: only those of gateways, which begin traces of their own. `always`: those of ' +
      'clients too. `never`: none, for a service that clients reach directly.',
    default: 'inside',
  }),
  bodySeconds: WholeNumber(1, 600, {
    description:
      'Time within which a request’s body must arrive, and the longest pause in it. A large body has one more second for each ' +
      '`server.bodyBytesPerSecond` bytes.',
    default: 10,
  }),
  bodyBytesPerSecond: WholeNumber(1, 1_073_741_824, {
    description: 'Lowest rate, in bytes per second, of a body that takes longer than `server.bodySeconds`.',
    default: 16_384,
  }),
  unreadSeconds: WholeNumber(1, 3_600, {
    description: 'Time after which a response or event stream is ended when its client reads nothing.',
    default: 30,
  }),
  uploadsPerPerson: WholeNumber(1, 1_000, {
    description: 'Uploads of one person that one gateway passes on at the same time; further ones wait.',
    default: 16,
  }),
  downloadsPerPerson: WholeNumber(1, 1_000, {
    description: 'Files, images and exports that one gateway sends to one person at the same time; further ones wait.',
    default: 32,
  }),
  shutdownSeconds: WholeNumber(1, 600, {
    description: 'Time that a stopping process gives to running requests.',
    default: 8,
  }),
})

export const RateLimit = Type.Object({
  enabled: Switch({ description: 'Apply the general rate limit.', default: true }),
  perMinute: WholeNumber(1, 1_000_000, { description: 'Requests per minute and person.', default: 600 }),
  perMinuteAnonymous: WholeNumber(1, 1_000_000, {
    description:
      'Requests without a token, such as sign-ins, per minute and IP address. The files of the web client do not count. An office behind one address may need more.',
    default: 120,
  }),
})

export const Events = Type.Object({
  replaySeconds: WholeNumber(1, 604_800, {
    description:
      'How far back a stream can resume, by the age of events. A client that missed older events fetches everything again.',
    default: 3600,
  }),
  resumeMaxEvents: WholeNumber(1, 100_000_000, {
    description: 'How far back a stream can resume, by the number of events of the whole server.',
    default: 1_000_000,
  }),
  replayMaxEvents: WholeNumber(1, 10_000_000, {
    description: 'Events that the Redis Stream keeps; older ones are read from PostgreSQL.',
    default: 100_000,
  }),
  memoryBytes: WholeNumber(65_536, 4_294_967_296, {
    description: 'Memory in which each realtime node keeps the newest events; older ones are read from Redis.',
    default: 67_108_864,
  }),
  consumerDays: WholeNumber(1, 90, {
    description:
      'How long events are kept for consumers of bots and for event subscriptions that have not read them yet. They take space in PostgreSQL.',
    default: 7,
  }),
  keepAliveSeconds: WholeNumber(1, 300, { description: 'Pause between keep-alive comments.', default: 25 }),
  maxStreamsPerUser: WholeNumber(1, 10_000, {
    description: 'Streams that one person may have open, on all nodes together.',
    default: 100,
  }),
  maxStreams: WholeNumber(1, 1_000_000, { description: 'Streams that one process may have open.', default: 50_000 }),
  maxBufferBytes: WholeNumber(1024, 1_073_741_824, {
    description: 'Unsent bytes after which the stream of a slow client is ended.',
    default: 1_048_576,
  }),
  offlineSeconds: WholeNumber(1, 3600, {
    description:
      'Time after which a person whose last stream has closed, or whose node has ended, is shown as offline.',
    default: 20,
  }),
  presencePerSecond: WholeNumber(2, 100_000, {
    description:
      'The largest number of presence updates that one stream gets in a second. Of the updates that wait, only the last one of each person is sent.',
    default: 200,
  }),
  drainSeconds: WholeNumber(0, 600, {
    description:
      'Time over which a stopping process spreads the end of its streams. After half of server.shutdownSeconds, the others end at once.',
    default: 4,
  }),
})

export const Jobs = Type.Object({
  takeOverSeconds: WholeNumber(2, 600, {
    description:
      'Time without a heartbeat after which another worker takes over a worker’s jobs, at the latest after twice that time.',
    default: 30,
  }),
})

export const Exports = Type.Object({
  keepHours: WholeNumber(1, 8_760, { description: 'How long an export can be downloaded.', default: 24 }),
})

export const Webhooks = Type.Object({
  perMinute: WholeNumber(1, 600, { description: 'Posts per minute and webhook.', default: 60 }),
  mentionsEverybody: Switch({
    description: 'Whether `@channel` and `@here` of a webhook are mentions.',
    default: true,
  }),
  maxMentions: WholeNumber(0, 50, {
    description: 'The largest number of people that a post of a webhook mentions.',
    default: 10,
  }),
})

export const Integrations = Type.Object({
  allowedNetworks: Networks({
    description:
      'Addresses of internal networks that the server may call for link previews, event subscriptions and commands. It may always call ' +
      'public addresses, and never any others.',
    default: [],
  }),
})

export const Messages = Type.Object({
  maxReactions: WholeNumber(1, 10_000, { description: 'Different reactions one message may have.', default: 50 }),
  maxPins: WholeNumber(1, 10_000, { description: 'Messages that may be pinned in one channel.', default: 100 }),
})

export const Uploads = Type.Object({
  maxUnattachedBytes: WholeNumber(65_536, 1_000_000_000_000, {
    description:
      'Bytes that one person may have in uploads that are not on a message yet. An upload counts as at least 4096 bytes. It counts until ' +
      'a message has it, and for 24 hours at most.',
    default: 524_288_000,
  }),
})

const Upstreams = (service: string, { alsoForIntegrations = false } = {}) =>
  HttpUrls({
    description: `Replicas of ${service}, for a distributed gateway${alsoForIntegrations ? ' and for integrations' : ''}.`,
    default: [],
  })

export const Gateway = Type.Object({
  upstreams: Type.Object({
    auth: Upstreams('auth'),
    directory: Upstreams('directory', { alsoForIntegrations: true }),
    messaging: Upstreams('messaging', { alsoForIntegrations: true }),
    admin: Upstreams('admin'),
    integrations: Upstreams('integrations'),
    realtime: Upstreams('realtime'),
    web: HttpUrls({
      description: 'Replicas of web, for a distributed gateway. Without any it serves no web client.',
      default: [],
    }),
  }),
})

export const Metrics = Type.Object({
  port: WholeNumber(0, 65_535, {
    description: 'Internal port of the Prometheus metrics; 0 turns them off.',
    default: 0,
  }),
  host: Text({ description: 'Address the metrics listen on.', default: '127.0.0.1' }),
})
