import type { WireEvent } from '@parley/contract'
import type { PositionedEvent } from '@parley/events'
import { slackSignature } from '@parley/slack'
import { Webhook } from 'standardwebhooks'
import type { SlackSource } from '../slack-objects/slack-references.queries.ts'
import { asSlackEvents } from './slack-events.ts'

/** One request about an event. */
export interface EventRequest {
  /** The type of the event, as the receiver's format names it. */
  type: string
  body: string
  /** The headers, with a signature of this time. */
  headersAt(now: Date): Record<string, string>
}

/** The bot that an event is sent to, and the format. */
export interface SubscribedBot {
  botId: string
  format: 'parley' | 'slack'
  /** The subscribed events, by their names at Slack. Only for Slack's format. */
  slackEvents: ReadonlySet<string>
}

interface EventAttempt {
  event: PositionedEvent
  /** The id of the event. It is the same in each attempt. */
  id: string
  /** The number of the attempt, from 1. */
  attempt: number
}

/**
 * The requests for an event, which the secret signs. Parley's format has exactly one. Slack's format may have none or several, because
 * one event of Parley can be no event or several events of Slack.
 */
export async function buildEventRequests(
  source: SlackSource,
  recipient: SubscribedBot,
  secret: string,
  attempt: EventAttempt,
): Promise<EventRequest[]> {
  return recipient.format === 'slack'
    ? slackRequests(source, recipient, secret, attempt)
    : [parleyRequest(secret, attempt)]
}

/** A request in Parley's format, signed according to Standard Webhooks. */
function parleyRequest(secret: string, { event, id }: EventAttempt): EventRequest {
  const { type, payload } = JSON.parse(event.event!)
  const body = JSON.stringify({ id, type, payload, createdAt: event.recordedAt ?? null })
  const headersAt = (now: Date) => ({
    'webhook-id': id,
    'webhook-timestamp': `${Math.floor(now.getTime() / 1_000)}`,
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  })
  return { type, body, headersAt }
}

/** Requests in Slack's format. Each event of Slack has its own id, which is the same in each attempt. */
async function slackRequests(
  source: SlackSource,
  { botId, slackEvents }: SubscribedBot,
  secret: string,
  { event, id, attempt }: EventAttempt,
): Promise<EventRequest[]> {
  const recordedAt = event.recordedAt ?? Date.now()
  const parleyEvent = { event: JSON.parse(event.event!) as WireEvent, routing: event.routing, recordedAt }
  const events = await asSlackEvents(source, parleyEvent, { botId, types: slackEvents })
  return events.map((slackEvent, n) => {
    const body = JSON.stringify({
      token: 'parley',
      team_id: 'parley',
      api_app_id: botId,
      type: 'event_callback',
      event: slackEvent,
      event_id: `Ev-${id}-${n}`,
      event_time: Math.floor(recordedAt / 1_000),
      event_context: `${id}-${n}`,
      is_ext_shared_channel: false,
      authorizations: [
        { enterprise_id: null, team_id: 'parley', user_id: botId, is_bot: true, is_enterprise_install: false },
      ],
    })
    const retry = attempt > 1 && { 'x-slack-retry-num': String(attempt - 1), 'x-slack-retry-reason': 'http_error' }
    const headersAt = (now: Date) => ({ ...slackSignature(secret, body, now.getTime()), ...retry })
    return { type: slackEvent.type, body, headersAt }
  })
}
