import type { Channel, Message } from '@parley/contract'
import type { Report } from './check.ts'
import { describe } from './check-answers.ts'
import { type ActOf, type History, type Operation, tagOf } from './history.ts'
import { initially, possibleFinally, type Write } from './register.ts'
import { type Rights, written } from './rights.ts'

/** A row of the messages table. */
export interface StoredMessage {
  id: string
  place: string
  parent: string | null
  seq: number
  content: string
  isDeleted: boolean
}

/** The final state, after all operations have ended. */
export interface Final {
  stored: StoredMessage[]
  /** The last `seq` of channels and conversations. */
  lastSeq: Map<string, number>
  /**
   * The listings of the API for an entitled person: all messages of each channel and conversation, all replies of each
   * message.
   */
  listed: Map<string, Message[]>
  replies: Map<string, Message[]>
  /** The channels that an admin sees. */
  channels: Channel[]
  users: { id: string; isAdmin: boolean }[]
}

type Sent = Operation & { act: ActOf<'send'> }

/**
 * Every acknowledged message is stored once, with all its changes. An operation without a reply is stored completely or
 * not at all.
 */
export function checkStorage(history: History, rights: Rights, final: Final, report: Report): void {
  checkSequences(final, report)
  checkSends(history, rights, final, report)
  checkListings(final, report)
  checkMessages(history, rights, final, report)
  checkChannels(history, rights, final, report)
}

function checkSequences({ stored, lastSeq }: Final, report: Report) {
  const groups = Map.groupBy(stored, ({ place, parent }) => parent ?? place)
  for (const [group, rows] of groups) {
    const seqs = rows.map(({ seq }) => seq).toSorted((one, other) => one - other)
    const wrong = seqs.findIndex((seq, index) => seq !== index + 1)
    if (wrong >= 0) report('seq has no gaps and no doubles', `${group}: ${seqs[wrong]} stands at ${wrong + 1}`)
  }
  for (const [place, last] of lastSeq) {
    const count = groups.get(place)?.length ?? 0
    if (last !== count) report('seq has no gaps and no doubles', `${place}: lastSeq is ${last} with ${count} messages`)
  }
}

/** Deleted channels are ignored, because they are purged some time after the deletion. */
const mayBePurged = (rights: Rights, place: string) => rights.channelMayBeGone(place).length > 0

function checkSends(history: History, rights: Rights, { stored }: Final, report: Report) {
  const rows = new Map(stored.map((row) => [row.id, row]))
  const sends = history.operations.filter(({ act }) => act.kind === 'send') as Sent[]
  for (const send of sends) {
    const row = rows.get(send.told.id ?? '')
    if (send.outcome !== 'ok') continue
    if (!row) {
      if (!mayBePurged(rights, send.act.place)) report('what was acknowledged is stored', describe(send))
    } else if (row.seq !== send.told.seq || row.place !== send.act.place || row.parent !== send.act.parent) {
      report('what was acknowledged is stored', `${describe(send)} is stored as ${JSON.stringify(row)}`)
    }
  }

  const byId = new Map(history.operations.map((operation) => [operation.id, operation]))
  const acknowledged = new Set(sends.flatMap(({ outcome, told }) => (outcome === 'ok' ? [told.id] : [])))
  const claimed = new Set<number>()
  const spare = new Map<string, number>()
  for (const { act, outcome } of sends) {
    const group = act.parent ?? act.place
    if (outcome === 'unknown') spare.set(group, (spare.get(group) ?? 0) + 1)
  }
  for (const row of stored) {
    if (acknowledged.has(row.id)) continue
    // Nobody knew its id, so nobody changed it. It may have been deleted together with its parent.
    const send = byId.get(tagOf(row.content) ?? -1)
    const group = row.parent ?? row.place
    spare.set(group, (spare.get(group) ?? 0) - 1)
    if (row.isDeleted && spare.get(group)! >= 0) continue
    if (send?.outcome === 'refused') report('what was refused leaves nothing', `${describe(send)}: ${row.id}`)
    else if (send?.act.kind !== 'send') report('nothing comes from nowhere', JSON.stringify(row))
    else if (send.outcome === 'ok' || claimed.has(send.id))
      report('a message is stored once', `${describe(send)}: ${row.id}`)
    else claimed.add(send.id)
  }
}

function checkListings({ stored, listed, replies }: Final, report: Report) {
  const groups = Map.groupBy(
    stored.filter(({ isDeleted }) => !isDeleted),
    ({ place, parent }) => parent ?? place,
  )
  for (const [group, messages] of [...listed, ...replies]) {
    const rows = (groups.get(group) ?? []).toSorted((one, other) => one.seq - other.seq)
    const shown = JSON.stringify(messages.map(({ id, seq, content }) => [id, seq, content]))
    const kept = JSON.stringify(rows.map(({ id, seq, content }) => [id, seq, content]))
    if (shown !== kept) report('what is listed is what is stored', `${group}: ${shown} instead of ${kept}`)
  }
}

/**
 * Content, pin, reactions and deletion of each message: the last acknowledged change is stored, unless one without a
 * reply came later.
 */
function checkMessages(history: History, rights: Rights, { stored, listed, replies }: Final, report: Report) {
  const changes = Map.groupBy(
    history.operations.filter(({ act, outcome }) => 'message' in act && outcome !== 'refused'),
    ({ act }) => (act as ActOf<'edit'>).message,
  )
  const rows = new Map(stored.map((row) => [row.id, row]))
  const shown = new Map([...listed.values(), ...replies.values()].flat().map((message) => [message.id, message]))

  for (const send of history.operations as Sent[]) {
    const { act, outcome, told } = send
    if (act.kind !== 'send' || outcome !== 'ok' || mayBePurged(rights, act.place)) continue
    const row = rows.get(told.id!)
    if (!row) continue
    const done = changes.get(row.id) ?? []
    const parental = act.parent === null ? [] : (changes.get(act.parent) ?? [])
    const deletions = [...done, ...parental].filter((change) => change.act.kind === 'delete')
    expectFinal(
      'deleted',
      row.isDeleted,
      false,
      deletions.map((deletion) => written(deletion, true)),
    )
    const message = shown.get(row.id)
    if (row.isDeleted || !message) continue

    const edits = done.flatMap((edit) => (edit.act.kind === 'edit' ? [written(edit, edit.act.content)] : []))
    expectFinal('content', message.content, act.content, edits)
    const pins = done.filter((change) => change.act.kind === 'pin' || change.act.kind === 'unpin')
    expectFinal(
      'pinned',
      message.pinnedAt !== null,
      false,
      pins.map((pin) => written(pin, pin.act.kind === 'pin')),
    )
    const reactions = done.filter((change) => 'reaction' in change.act)
    for (const [reaction, of] of Map.groupBy(reactions, ({ act }) => (act as ActOf<'react'>).reaction)) {
      const isHeld = (message.reactions[reaction] ?? []).includes(of[0]!.who)
      expectFinal(
        `reaction ${reaction}`,
        isHeld,
        false,
        of.map((each) => written(each, each.act.kind === 'react')),
      )
    }
    const revs = done.flatMap((change) => (change.outcome === 'ok' ? [change.told.rev ?? 0] : []))
    if (message.rev < Math.max(0, ...revs)) report('rev only grows', `${row.id} has rev ${message.rev} after ${revs}`)

    function expectFinal<V>(what: string, value: V, first: V, writes: Write<V>[]) {
      const possible = possibleFinally([initially(first), ...writes])
      if (possible.has(value)) return
      report(
        'the last acknowledged change stands',
        `${what} of ${row!.id} is ${value}, not ${[...possible].join(' or ')}: ${describe(send)}`,
      )
    }
  }
}

function checkChannels(history: History, rights: Rights, { channels, users }: Final, report: Report) {
  const byId = new Map(channels.map((channel) => [channel.id, channel]))
  const stands = (spans: { to: number }[]) => spans.some(({ to }) => to === Infinity)
  const expect = (what: string, isSo: boolean, spans: { to: number }[]) => {
    if (!stands(spans)) report('the last acknowledged change stands', `${what} is ${isSo}`)
  }
  for (const [id, creation] of rights.creations) {
    const channel = byId.get(id)
    const spans = channel ? rights.channelMayBeThere(id) : rights.channelMayBeGone(id)
    expect(`that ${creation.act.name} exists`, channel !== undefined, spans)
    if (!channel) continue
    expect(`that ${channel.name} is open`, !channel.isPrivate, rights.open(id, !channel.isPrivate))
    for (const person of history.people.keys()) {
      const isMember = channel.members.includes(person)
      const spans = isMember
        ? rights.member(person, id, true)
        : [...rights.member(person, id, false), ...rights.live(person, false)]
      expect(`that ${person} is a member of ${channel.name}`, isMember, spans)
    }
  }
  const here = new Map(users.map((user) => [user.id, user]))
  for (const person of history.people.keys()) {
    const user = here.get(person)
    expect(`that ${person} is here`, user !== undefined, rights.live(person, user !== undefined))
    if (user) expect(`that ${person} is admin`, user.isAdmin, rights.admin(person, user.isAdmin))
  }
}
