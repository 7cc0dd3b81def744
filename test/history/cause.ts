import type { WireEvent } from '@parley/contract'
import { type History, type Operation, tagOf } from './history.ts'

export type Caused = ReturnType<typeof causesOf>

/** Finds the operation that caused an event, by the numbers in its texts, by ids and by `rev`. */
export function causesOf(history: History) {
  const byNumber = new Map(history.operations.map((operation) => [operation.id, operation]))
  const byChange = new Map<string, Operation>()
  const unpinned = new Map<string, Operation>()
  const deletions = new Map<string, Operation>()
  const drops = new Map<string, Operation>()
  const reactions = new Map<string, Operation>()
  for (const operation of history.operations) {
    const { act, outcome, told } = operation
    if (outcome === 'refused') continue
    const isChange = act.kind === 'edit' || act.kind === 'pin' || act.kind === 'unpin'
    if (isChange && outcome === 'ok') byChange.set(`${act.message}@${told.rev}`, operation)
    if (isChange && act.kind !== 'edit' && outcome === 'unknown') keepFirst(unpinned, act.message, operation)
    if (act.kind === 'delete') keepBest(deletions, act.message, operation)
    if (act.kind === 'drop') keepBest(drops, act.place, operation)
    if (act.kind === 'react' || act.kind === 'unreact') keepFirst(reactions, `${act.kind} ${act.reaction}`, operation)
  }
  const numbered = (text: string | null) => byNumber.get(tagOf(text) ?? -1)
  const firstTold = firstTellings(history)

  function by(event: WireEvent): Operation | undefined {
    const { type, payload } = event
    switch (type) {
      case 'NEW_MESSAGE':
      case 'NEW_DM_MESSAGE':
        return numbered(payload.content)
      case 'NEW_THREAD_REPLY':
        return numbered(payload.reply.content)
      case 'UPDATE_MESSAGE':
      case 'UPDATE_DM_MESSAGE':
      case 'UPDATE_THREAD_REPLY': {
        const known = byChange.get(`${payload.id}@${payload.rev}`)
        if (known) return known
        const named = numbered(payload.content)
        return named?.act.kind === 'edit' && named.outcome === 'unknown' ? named : unpinned.get(payload.id)
      }
      case 'DELETE_MESSAGE':
      case 'DELETE_DM_MESSAGE':
      case 'DELETE_THREAD_REPLY':
        return deletions.get(payload.id)
      case 'NEW_REACTION':
        return reactions.get(`react ${payload.reaction}`)
      case 'DELETE_REACTION':
        return reactions.get(`unreact ${payload.reaction}`)
      case 'NEW_CHANNEL':
      case 'UPDATE_CHANNEL': {
        const named = numbered(payload.topic)
        const kind = type === 'NEW_CHANNEL' ? 'create' : 'change'
        return named?.act.kind === kind && firstTold.has(event) ? named : undefined
      }
      default:
        return undefined
    }
  }

  return {
    by,
    /** Whether the event must have a cause in the history. */
    isNamed: ({ type }: WireEvent) => /_(MESSAGE|REPLY|REACTION)$/.test(type),
    /** A key that only one event can have. */
    identity({ type, payload }: WireEvent): string | undefined {
      switch (type) {
        case 'NEW_MESSAGE':
        case 'NEW_DM_MESSAGE':
        case 'DELETE_MESSAGE':
        case 'DELETE_DM_MESSAGE':
        case 'DELETE_THREAD_REPLY':
          return `${type} ${payload.id}`
        case 'NEW_THREAD_REPLY':
          return `${type} ${payload.reply.id}`
        case 'UPDATE_MESSAGE':
        case 'UPDATE_DM_MESSAGE':
        case 'UPDATE_THREAD_REPLY':
          return `${type} ${payload.id}@${payload.rev}`
        case 'NEW_REACTION':
        case 'DELETE_REACTION':
          return `${type} ${payload.reaction}`
        default:
          return undefined
      }
    },
    /** The facts that receiving this event proves. */
    proofs(event: WireEvent): string[] {
      if (event.type === 'DELETE_CHANNEL') return [`DELETE_CHANNEL ${event.payload.id}`]
      const operation = by(event)
      return operation ? [`${event.type} ${operation.id}`, String(operation.id)] : []
    },
    /** The fact that proves that this operation's event was received; undefined when nobody has to receive one. */
    proofOf({ id, act }: Operation): string | undefined {
      if (act.kind === 'list') return undefined
      // The topic in their events comes from an earlier change.
      if (act.kind === 'join' || act.kind === 'leave' || act.kind === 'group') return undefined
      if (act.kind === 'drop') return `DELETE_CHANNEL ${act.place}`
      return act.kind === 'change' ? `UPDATE_CHANNEL ${id}` : String(id)
    },
  }
}

/**
 * The first events with a topic of a channel. Later joins and leaves cause further events of the channel with the same
 * topic.
 */
function firstTellings({ events }: History): Set<WireEvent> {
  const positionOf = (cursor: string) => Number(cursor.split('.')[1])
  const told = [...events].toSorted(([one], [other]) => positionOf(one) - positionOf(other))
  const first = new Map<string, WireEvent>()
  for (const [, event] of told) {
    if (event.type !== 'NEW_CHANNEL' && event.type !== 'UPDATE_CHANNEL') continue
    const key = `${event.type} ${event.payload.id} ${event.payload.topic}`
    if (!first.has(key)) first.set(key, event)
  }
  return new Set(first.values())
}

/** The channel or conversation of an event; undefined when it has none. */
export function placeOf({ type, payload }: WireEvent): string | undefined {
  if (type === 'NEW_CHANNEL' || type === 'UPDATE_CHANNEL' || type === 'DELETE_CHANNEL') return payload.id
  if (type === 'NEW_CONVERSATION') return payload.id
  return 'channelId' in payload ? payload.channelId : undefined
}

function keepFirst(map: Map<string, Operation>, key: string, operation: Operation) {
  const known = map.get(key)
  if (!known || operation.invoked < known.invoked) map.set(key, operation)
}

/** Only one of several deletions can have taken place: the acknowledged one, if there is one. */
function keepBest(map: Map<string, Operation>, key: string, operation: Operation) {
  const known = map.get(key)
  if (!known || (known.outcome !== 'ok' && operation.outcome === 'ok')) map.set(key, operation)
}
