import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { WireEvent } from '@parley/contract'
import type { KeptCopy } from './kept-copy.ts'

export interface Difference {
  /** The person of the copy, and the compared data. */
  where: string
  kept: unknown
  fresh: unknown
  /** The last events that the copy received about it. */
  heard: WireEvent[]
}

type Thing = Record<string, unknown>

/** Of a listing, which has everything then. */
const maxListed = 200
const presencePatienceMs = 10_000
const heardAtMost = 12

/** Compares all data of a copy with responses of the server, after the last change. */
export async function compare(each: KeptCopy): Promise<Difference[]> {
  const { copy, person, heard, pageSize, places, pinned, threads } = each
  const get = async (path: string) => (await person.get(path)).body
  const [{ users }, { channels }, { conversations }, settings, { webhooks = [] }] = await Promise.all(
    ['/users', '/channels', '/conversations', '/server/settings', '/webhooks'].map(get),
  )
  const differences: Difference[] = []
  const look = (what: string, kept: readonly Thing[] | undefined, fresh: readonly Thing[], isOrdered = true) => {
    for (const [id, one, other] of unequal(kept ?? [], fresh, isOrdered)) {
      differences.push({
        where: `${person.userName} (${each.scope}), ${each.reconnections} reconnections, ${what}: ${id}`,
        kept: one,
        fresh: other,
        heard: heard.filter((event) => JSON.stringify(event).includes(id)).slice(-heardAtMost),
      })
    }
  }
  look('conversations', copy.conversations(), conversations)
  look('settings', [copy.settings()], [settings])
  if (each.scope === 'all') {
    look('users', copy.users(), users, false)
    look('channels', copy.channels(), channels, false)
    look('webhooks', copy.webhooks(), webhooks, false)
  } else {
    const joined: Thing[] = (await get('/channels?scope=joined&members=false')).channels
    look('joined channels', copy.channels(), joined, false)
  }

  const readable = new Set<string>([...channels, ...conversations].map(({ id }: { id: string }) => id))
  for (const id of places) {
    const path = id.startsWith('dm:') ? `/conversations/${id}/messages` : `/channels/${id}/messages`
    const { messages = [] } = readable.has(id) ? await get(`${path}?limit=${maxListed}`) : {}
    const kept = copy.messages(id) ?? []
    // A copy that was opened with small pages has the newest messages, without a gap.
    look(`messages of ${id}`, kept, copy.hasOlder(id) ? lastOf(messages, kept.length) : messages)
  }
  for (const id of pinned) {
    const { messages = [] } = readable.has(id) ? await get(`/channels/${id}/pins`) : {}
    look(`pins of ${id}`, copy.pins(id), messages)
  }
  for (const [parentId, channelId] of threads) {
    const { replies = [] } = await get(`/messages/${parentId}/thread?limit=${maxListed}`)
    const kept = copy.messages(channelId, { parentId }) ?? []
    look(`replies to ${parentId}`, kept, pageSize < maxListed ? lastOf(replies, kept.length) : replies)
  }
  // Guests do not see the presence of others.
  if (each.scope === 'joined' || copy.me().role === 'guest') return differences
  const presence = await presenceOnceTold(each, get)
  look('presence', presence.kept, presence.fresh, false)
  return differences
}

/**
 * Presence has no cursor, but the last change is sent within moments. Returns the compared presence, because somebody
 * may go offline before another request.
 */
async function presenceOnceTold({ copy }: KeptCopy, get: (path: string) => Promise<{ presence: Shown[] }>) {
  for (const until = performance.now() + presencePatienceMs; ; await delay(50)) {
    const fresh = shownBy((await get('/presence')).presence)
    const kept = shownBy(copy.presence())
    if (unequal(kept, fresh, false).length === 0 || performance.now() > until) return { kept, fresh }
  }
}

interface Shown {
  userId: string
  status: string
}

/** `lastSeen` of somebody who stays online changes with every stream that opens, without an event. */
const shownBy = (presence: readonly Shown[]) => presence.map(({ userId, status }) => ({ id: userId, status }))

const lastOf = <T>(list: readonly T[], count: number) => list.slice(Math.max(0, list.length - count))

/** The differences: the id, and the item in both lists. */
function unequal(kept: readonly Thing[], fresh: readonly Thing[], isOrdered: boolean): [string, unknown, unknown][] {
  const [ours, theirs] = [kept, fresh].map((list) => new Map(list.map((thing) => [String(thing.id), thing])))
  const ids = new Set([...ours!.keys(), ...theirs!.keys()])
  const different = [...ids].filter((id) => !isDeepStrictEqual(ours!.get(id), theirs!.get(id)))
  if (different.length > 0) return different.map((id) => [id, ours!.get(id), theirs!.get(id)])
  if (kept.length === fresh.length && (!isOrdered || isDeepStrictEqual(kept, fresh))) return []
  return [['order', kept.map(({ id }) => id), fresh.map(({ id }) => id)]]
}

export const describe = ({ where, kept, fresh, heard }: Difference) =>
  [
    where,
    `  kept  ${JSON.stringify(kept)}`,
    `  fresh ${JSON.stringify(fresh)}`,
    ...heard.map((event) => `  heard ${JSON.stringify(event)}`),
  ].join('\n')
