import { findReadable, isNotGuestOrNamed, isOutsider } from '@parley/access'
import type { Reader } from '@parley/database'
import { eventTypeOf, type PositionedEvent } from '@parley/events'
import type { Settings, Subscriber } from './subscriber.ts'
import { findActiveUsers } from './subscriptions.queries.ts'

export const typeOf = ({ event }: PositionedEvent): string | undefined =>
  event === null ? undefined : eventTypeOf(event)

/** Whether the subscription asks for this event. Rights are not checked here. */
export function matchesFilter({ events, channelIds }: Settings, event: PositionedEvent): boolean {
  const type = typeOf(event)
  if (type === undefined || !events.has(type)) return false
  const { routing } = event
  return channelIds === null || (routing.to === 'channel' && channelIds.has(routing.channel))
}

/** A subscription and an event that it asks for. */
export interface Pair {
  subscriber: Subscriber
  event: PositionedEvent
}

/**
 * The pairs whose bot may receive the event now. Rights are checked at delivery, with the rule of `@parley/access`.
 * Uses two statements for any number of pairs. @throws when the database is unavailable.
 */
export async function filterEntitled(db: Reader, pairs: readonly Pair[], now: number): Promise<Pair[]> {
  if (pairs.length === 0) return []
  const botIds = new Set(pairs.map(({ subscriber }) => subscriber.settings.botId))
  const active = new Map((await findActiveUsers(db, [...botIds], now)).map((bot) => [bot.id, bot]))
  const isReadable = await findReadable(
    db,
    pairs.flatMap(({ subscriber: { settings }, event: { routing } }) =>
      routing.to === 'channel' ? [{ userId: settings.botId, channelId: routing.channel }] : [],
    ),
  )
  return pairs.filter(({ subscriber, event: { routing } }) => {
    const { botId } = subscriber.settings
    const bot = active.get(botId)
    if (!bot) return false
    switch (routing.to) {
      case 'everyone':
        return routing.guests === undefined || isNotGuestOrNamed(bot.role, routing.guests.includes(botId))
      case 'users':
        return routing.users.includes(botId)
      case 'channel':
        return isReadable({ userId: botId, channelId: routing.channel })
      case 'outsiders':
        return isOutsider({ role: bot.role, isMember: routing.members.includes(botId) })
      default:
        return false
    }
  })
}
