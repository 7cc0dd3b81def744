import type { Chooser } from '../src/chooser.ts'
import type { Client } from './client.ts'
import { type History, tagged } from './history.ts'

/** A known message, on which further operations are possible. */
interface Known {
  id: string
  place: string
  parent: string | null
  pinned: boolean
  touched: boolean
}

export interface Regular {
  client: Client
  /** Their own messages, newest last. */
  own: Known[]
  held: { message: Known; reaction: string }[]
}

/** The places in which a regular person posts. */
export interface Surroundings {
  history: History
  people: readonly Regular[]
  /** Channels that always exist. */
  steady: readonly string[]
  /** Channels whose members change by hand. */
  contested: readonly string[]
  /** These, and the channel of a group. */
  places: readonly string[]
  conversations: readonly string[]
  /** A temporary channel, if there is one. */
  passing: () => string | undefined
}

/** The operations of a regular person. Each call runs one operation, which is chosen at random. */
export function actsOf(
  regular: Regular,
  { history, people, steady, contested, places, conversations, passing }: Surroundings,
  chooser: Chooser,
): () => Promise<unknown> {
  const { client, own, held } = regular
  const place = () => {
    const where = chooser.below(10)
    if (where < 3) return chooser.any(steady)
    if (where < 7) return chooser.any(places)
    const id = passing()
    if (where < 8 && id !== undefined) return id
    const mine = conversations.filter((id) => history.conversations.get(id)!.includes(client.person.id))
    return chooser.any(mine.length > 0 ? mine : steady)
  }
  const sends = async (where: string, parent: string | null) => {
    const operation = await client.does((id) => ({
      kind: 'send',
      place: where,
      parent,
      content: tagged(id, 'hello'),
    }))
    if (operation.outcome !== 'ok') return
    own.push({ id: operation.told.id!, place: where, parent, pinned: false, touched: false })
    if (own.length > 50) own.shift()
  }
  const anyMessage = () => {
    const all = people.flatMap((each) => each.own.slice(-10))
    const readable = all.filter((each) => history.conversations.get(each.place)?.includes(client.person.id) !== false)
    return readable.length > 0 ? chooser.any(readable) : undefined
  }
  const acts: Record<string, () => Promise<unknown>> = {
    send: () => sends(place(), null),
    async reply() {
      const message = anyMessage()
      if (message && message.parent === null && !message.place.startsWith('dm:')) await sends(message.place, message.id)
    },
    async edit() {
      const message = own.length > 0 && chooser.any(own.slice(-8))
      if (!message) return
      await client.does((id) => ({
        kind: 'edit',
        place: message.place,
        message: message.id,
        content: tagged(id, 'better'),
      }))
    },
    async delete() {
      if (own.length < 5) return
      const [message] = own.splice(chooser.below(own.length), 1)
      await client.does(() => ({ kind: 'delete', place: message!.place, message: message!.id }))
    },
    async react() {
      const message = anyMessage()
      if (!message) return
      const { outcome, act } = await client.does((id) => ({
        kind: 'react',
        place: message.place,
        message: message.id,
        reaction: `r${id}`,
      }))
      if (outcome === 'ok' && act.kind === 'react') held.push({ message, reaction: act.reaction })
    },
    async unreact() {
      const [one] = held.splice(0, 1)
      if (!one) return
      const { place, id } = one.message
      await client.does(() => ({ kind: 'unreact', place, message: id, reaction: one.reaction }))
    },
    async pin() {
      const message = own.findLast(
        ({ touched, parent, place }) => !touched && parent === null && !place.startsWith('dm:'),
      )
      if (!message) return
      message.touched = true
      const { outcome } = await client.does(() => ({ kind: 'pin', place: message.place, message: message.id }))
      message.pinned = outcome === 'ok'
    },
    async unpin() {
      const message = own.find(({ pinned }) => pinned)
      if (!message) return
      message.pinned = false
      await client.does(() => ({ kind: 'unpin', place: message.place, message: message.id }))
    },
    async joinOrLeave() {
      // A guest who leaves a public channel cannot join it again.
      const square = history.people.get(client.person.id)!.isGuest ? [] : [steady[0]!]
      const where = chooser.any([...contested, ...square, passing() ?? contested[0]!])
      const isCreator = history.operations.some(({ told, who }) => told.id === where && who === client.person.id)
      // Creators stay, because they change the channel.
      const kind = isCreator || chooser.chance(0.6) ? 'join' : 'leave'
      await client.does(() => ({ kind, place: where }))
    },
    list: () => {
      const where = place()
      return client.does(() => ({ kind: 'list', place: where }))
    },
  }
  const usual = ['send', 'send', 'send', 'send', 'reply', 'reply', 'list', ...Object.keys(acts)]
  return () => acts[chooser.any(usual)]!()
}
