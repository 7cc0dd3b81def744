import type { ActOf, History, Operation, Reading } from './history.ts'
import { tagOf } from './history.ts'
import { initially, intersection, possibleSpans, type Span, touches, union, type Write } from './register.ts'

/** The person of a reader, and the channels that it follows. */
type Follower = Pick<Reading, 'user' | 'watched'>

type Kind = Operation['act']['kind']

export type Rights = ReturnType<typeof findRights>

/**
 * The possible rights of people over time. From outside it is not known at which moment between request and reply a
 * change took effect, and without a reply it is not known whether it did. So there are periods in which a person may
 * have been entitled, and periods in which they may not have been, and these overlap. Only an observation that is wrong
 * in both cases is a violation.
 */
export function findRights(history: History) {
  const operations = history.operations.filter(({ outcome }) => outcome !== 'refused')
  const of = <K extends Kind>(kind: K) =>
    operations.filter(({ act }) => act.kind === kind) as (Operation & { act: ActOf<K> })[]
  const creations = findCreations(history, of('create'))
  const changes = Map.groupBy(of('change'), ({ act }) => act.place)
  const roles = Map.groupBy(of('role'), ({ act }) => act.user)
  const removals = Map.groupBy([...of('remove'), ...of('deactivate')], ({ act }) => act.user)
  const groupings = Map.groupBy(of('group'), ({ act }) => `${act.user} ${history.groups.get(act.group)}`)
  const logouts = Map.groupBy(of('logout'), ({ act }) => act.session)
  const drops = Map.groupBy(of('drop'), ({ act }) => act.place)
  const byPersonAndPlace = ({ who, act }: Operation & { act: { place: string } }) => `${who} ${act.place}`
  const joins = Map.groupBy(of('join'), byPersonAndPlace)
  const leaves = Map.groupBy(of('leave'), byPersonAndPlace)
  // A send may be refused after its author has joined, when the channel becomes private at the same time.
  const sends = history.operations.filter(({ act }) => act.kind === 'send') as (Operation & { act: ActOf<'send'> })[]
  const posts = Map.groupBy(sends, byPersonAndPlace)
  const deletions = Map.groupBy(of('delete'), ({ act }) => act.message)
  const known = new Map<string, Span[]>()
  const remembered = (key: string, find: () => Span[]) => {
    if (!known.has(key)) known.set(key, find())
    return known.get(key)!
  }

  const flag = (first: boolean, writes: Write<boolean>[], value: boolean) =>
    possibleSpans([initially(first), ...writes], value)
  const ending = (ends: readonly Operation[] = [], isThere: boolean) =>
    flag(
      true,
      ends.map((end) => written(end, false)),
      isThere,
    )

  const admin = (user: string, value: boolean) => {
    const writes = (roles.get(user) ?? []).map((role) => written(role, role.act.isAdmin))
    return flag(history.people.get(user)?.isAdmin ?? false, writes, value)
  }
  const live = (user: string, value: boolean) => ending(removals.get(user), value)

  function open(place: string, value: boolean) {
    const creation = creations.get(place)
    const writes = (changes.get(place) ?? []).flatMap((change) =>
      change.act.isPrivate === undefined ? [] : [written(change, !change.act.isPrivate)],
    )
    return flag(creation ? !creation.act.isPrivate : true, writes, value)
  }

  function member(user: string, place: string, value: boolean) {
    return remembered(`member ${user} ${place} ${value}`, () => {
      const creation = creations.get(place)
      // No operation creates General: it exists from the first start, and new people join it.
      if (!creation) return [always]
      const isCreator = creation.who === user
      const key = `${user} ${place}`
      const writes = [
        ...(changes.get(place) ?? []).flatMap((change) => {
          const { members } = change.act
          // A list of members cannot remove the creator of a channel.
          if (members === undefined || (isCreator && !members.includes(user))) return []
          return [written(change, members.includes(user))]
        }),
        ...(groupings.get(key) ?? []).map((grouping) => written(grouping, grouping.act.isIn)),
        ...(joins.get(key) ?? []).map((join) => written(join, true)),
        ...(leaves.get(key) ?? []).map((leave) => written(leave, false)),
        // A person who posts to a public channel joins it. The channel may have been private at that time.
        ...(posts.get(key) ?? [])
          .map(({ invoked, completed }) => ({ value: true, invoked, completed, isDoubtful: true }))
          .filter(({ invoked, completed }) => touches(open(place, true), invoked, completed)),
      ]
      return flag(isCreator || creation.act.members.includes(user), writes, value)
    })
  }

  const isGuest = (user: string) => history.people.get(user)?.isGuest === true
  /** The periods in which everybody except guests may have read it. */
  const openFor = (user: string, place: string) => (isGuest(user) ? [] : open(place, true))
  const closedFor = (user: string, place: string) => (isGuest(user) ? [always] : open(place, false))

  /** The periods in which this person may have been allowed to read the channel or conversation. */
  const mayRead = (user: string, place: string) =>
    remembered(`may ${user} ${place}`, () => {
      const participants = history.conversations.get(place)
      if (participants) return participants.includes(user) ? live(user, true) : []
      const reasons = [...openFor(user, place), ...member(user, place, true), ...admin(user, true)]
      return intersection(live(user, true), union(reasons))
    })

  /** The periods in which this person may not have had that right. */
  const mayLack = (user: string, place: string) =>
    remembered(`lack ${user} ${place}`, () => {
      const participants = history.conversations.get(place)
      if (participants) return participants.includes(user) ? live(user, false) : [always]
      const without = intersection(closedFor(user, place), intersection(member(user, place, false), admin(user, false)))
      return union([...live(user, false), ...without])
    })

  const follows = ({ watched }: Follower, place: string) =>
    watched === undefined || watched.includes(place) || history.conversations.has(place)

  /**
   * The periods in which a stream of this reader may have received events of the channel: it had the right, and the
   * channel was in its scope.
   */
  const mayHear = (reader: Follower, place: string) => {
    const readable = mayRead(reader.user, place)
    return follows(reader, place) ? readable : intersection(readable, member(reader.user, place, true))
  }

  /** The periods in which it may not have received them. */
  const mayMiss = (reader: Follower, place: string) => {
    const unreadable = mayLack(reader.user, place)
    return follows(reader, place) ? unreadable : union([...unreadable, ...member(reader.user, place, false)])
  }

  return {
    mayRead,
    mayHear,
    mayLack,
    admin,
    live,
    open,
    member,
    creations,
    /** The periods in which the session may have been over, for any reason. */
    sessionMayBeOver: (user: string, session: string) =>
      union([...live(user, false), ...ending(logouts.get(session), false)]),
    /** The time from which it was certainly over; Infinity when no acknowledged operation ended it. */
    endOf: (user: string, session: string) =>
      Math.min(
        ...[...(logouts.get(session) ?? []), ...(removals.get(user) ?? [])].flatMap((end) =>
          end.outcome === 'ok' ? [end.completed] : [],
        ),
        Infinity,
      ),
    channelMayBeGone: (place: string) => ending(drops.get(place), false),
    channelMayBeThere: (place: string) => ending(drops.get(place), true),
    /** The time from which a message or its parent may be deleted; Infinity when nobody tried. */
    messageMayBeGoneFrom: (...messages: (string | null)[]) =>
      Math.min(...messages.flatMap((id) => (deletions.get(id ?? '') ?? []).map(({ invoked }) => invoked)), Infinity),
    /** Whether they certainly had the right all the time. */
    surelyReads: (user: string, place: string, from: number, to: number) => !touches(mayLack(user, place), from, to),
    surelyHears: (reader: Follower, place: string, from: number, to: number) =>
      !touches(mayMiss(reader, place), from, to),
    surelyMisses: (reader: Follower, place: string, from: number, to: number) =>
      !touches(mayHear(reader, place), from, to),
  }
}

const always: Span = { from: -Infinity, to: Infinity }

export const written = <V>({ invoked, completed, outcome }: Operation, value: V): Write<V> => ({
  value,
  invoked,
  completed: outcome === 'ok' ? completed : Infinity,
})

/** Channels by id. A channel whose creation had no reply is known by the tag in its events. */
function findCreations(history: History, created: (Operation & { act: ActOf<'create'> })[]) {
  const byNumber = new Map(created.map((operation) => [operation.id, operation]))
  const byId = new Map(created.flatMap((operation) => (operation.told.id ? [[operation.told.id, operation]] : [])))
  for (const { type, payload } of history.events.values()) {
    if (type !== 'NEW_CHANNEL' || byId.has(payload.id)) continue
    const creation = byNumber.get(tagOf(payload.topic) ?? -1)
    if (creation) byId.set(payload.id, creation)
  }
  return byId as Map<string, Operation & { act: ActOf<'create'> }>
}
