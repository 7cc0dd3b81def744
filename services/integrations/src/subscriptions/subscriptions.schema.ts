import { eventPayloads, Id, Nullable, ReceiverUrl, Timestamp } from '@parley/contract'
import { Type } from 'typebox'
import { slackEventTypes } from './slack-events.ts'

/** The types of stored events. Presence, typing and ephemeral messages are not stored: only open streams get them. */
const deliveredTypes = Object.keys(eventPayloads).filter(
  (type) => !['CONNECTED', 'PRESENCE_UPDATE', 'TYPING', 'EPHEMERAL_MESSAGE'].includes(type),
)

const formats = ['parley', 'slack'] as const
const Events = Type.Array(Type.Enum([...deliveredTypes, ...slackEventTypes]), {
  minItems: 1,
  maxItems: 100,
  description: 'Types of events, by their names in the format',
})

/** The types of events of a format. */
export const typesIn = (format: (typeof formats)[number]): readonly string[] =>
  format === 'slack' ? slackEventTypes : deliveredTypes

const ChannelIds = Type.Array(Id, {
  minItems: 1,
  maxItems: 100,
  description: 'Only events of these channels. Without it, events of all channels that the bot may read',
})

export const SubscriptionView = Type.Object({
  id: Id,
  botId: Id,
  url: Type.String(),
  format: Type.Enum(formats),
  events: Type.Array(Type.String()),
  channelIds: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
  isPaused: Type.Boolean(),
  pauseReason: Nullable(Type.String({ description: 'The reason why the server paused it' })),
  cursor: Type.String({
    description: 'The cursor of the last event that the receiver accepted. It may be some seconds old',
  }),
  failingSince: Nullable(Timestamp),
  nextAttemptAt: Nullable(Timestamp),
  createdBy: Id,
  createdAt: Timestamp,
})

export const SubscriptionParams = Type.Object({ subscriptionId: Id })

export const NewSubscription = Type.Object({
  botId: Type.Optional(
    Type.String({ description: 'For admins: the bot whose rights the subscription has. A bot leaves it out' }),
  ),
  url: ReceiverUrl,
  format: Type.Optional(
    Type.Enum(formats, {
      description:
        'The default is `parley`. With `slack`, an address that answers `url_verification` gets Slack’s `event_callback`, signed with ' +
        'the signing secret of the bot',
    }),
  ),
  events: Events,
  channelIds: Type.Optional(ChannelIds),
  secret: Type.Optional(
    Type.String({
      maxLength: 200,
      description: '`whsec_` and 24 to 64 bytes in base64. Without it, the server creates one',
    }),
  ),
})

export const SubscriptionChanges = Type.Object({
  url: Type.Optional(ReceiverUrl),
  events: Type.Optional(Events),
  channelIds: Type.Optional(
    Type.Array(Id, {
      maxItems: 100,
      description: 'Only events of these channels. An empty list means all channels again',
    }),
  ),
  isPaused: Type.Optional(Type.Boolean()),
})

export const Replay = Type.Object({
  since: Type.Optional({ ...Timestamp, minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  cursor: Type.Optional(
    Type.String({ maxLength: 100, description: 'The `id` of an event: the events after it are sent' }),
  ),
})

export const DeliveryView = Type.Object({
  id: Id,
  eventId: Type.String({ description: 'The `webhook-id`, which is the same in each attempt' }),
  type: Type.String(),
  attempt: Type.Integer(),
  status: Nullable(Type.Integer({ description: 'null when there was no response' })),
  durationMs: Type.Integer(),
  createdAt: Timestamp,
  error: Nullable(Type.String()),
})
