import { setTimeout as delay } from 'node:timers/promises'
import { Person } from '@parley/test'
import type { Chooser } from '../src/chooser.ts'
import { Client, type Troubles } from './client.ts'
import { type History, type Operation, tagged } from './history.ts'
import { Reader } from './reader.ts'
import { actsOf, type Regular } from './regular.ts'

/** The pause between two operations of one person. */
const longestPauseMs = 120
const regulars = 6

export type Workload = ReturnType<typeof createWorkload>

/**
 * The workload: people who post and edit messages and whose rights change meanwhile; a guest; a channel of a group;
 * newcomers who are removed or deactivated; readers who stay, disconnect and resume, or read slowly. The choices depend
 * on the chooser, but their order depends on the machine.
 */
export function createWorkload(baseUrl: string, history: History, choose: Chooser) {
  const stopping = new AbortController()
  const troubles: Troubles = new Map()
  const people: Regular[] = []
  const readers: Reader[] = []
  const clients: Client[] = []
  const loops: Promise<void>[] = []
  const conversations: string[] = []
  /** Channels whose members change. */
  const contested: string[] = []
  /** Two channels that always exist: one for everybody, and one only for the regular people. */
  const steady: string[] = []
  let passing: { id: string; owner: Regular } | undefined
  let root: Regular
  /** The group whose people are the members of a channel. */
  let crew: string
  let names = 0

  async function prepare() {
    root = { client: await comesIn('admin', { isAdmin: true }), own: [], held: [] }
    for (let n = 1; n <= regulars; n++) people.push({ client: await comesIn(`person${n}`), own: [], held: [] })
    for (const { client } of [root, ...people]) await listens(client.person, `${client.person.userName} (first)`)
    const visitor: Regular = { client: await comesIn('visitor', { isGuest: true }), own: [], held: [] }
    people.push(visitor)
    await listens(visitor.client.person, 'visitor')
    const ids = people.map(({ client }) => client.person.id)
    steady.push(await creates(people[0]!, 'square', false, ids), await creates(people[1]!, 'vault', true, ids))
    // The last message, which everybody must receive, is posted to the square.
    for (const { client } of [root, ...people])
      await listens(client.person, `${client.person.userName} (joined)`, [steady[0]!])
    contested.push(await creates(people[2]!, 'disputed', true, ids), await creates(people[3]!, 'seesaw', false, []))
    crew = await createsCrew(await creates(root, 'crew', true, []))
    for (const [index, { client }] of people.slice(0, regulars).entries()) {
      const { person } = people[(index + 1) % regulars]!.client
      const { status, body } = await client.person.post('/conversations', { targetUserId: person.id })
      if (status !== 200) throw new Error(`no conversation: ${status} ${JSON.stringify(body)}`)
      history.conversations.set(body.conversation.id, [client.person.id, person.id])
      conversations.push(body.conversation.id)
    }
  }

  async function comesIn(name: string, { isAdmin = false, isGuest = false } = {}): Promise<Client> {
    if (isGuest) await asRoot('/users/add', { email: `${name}@example.com`, role: 'guest' })
    const person = await Person.signIn(baseUrl, `${name}@example.com`)
    history.people.set(person.id, { id: person.id, name, isAdmin, isGuest })
    const client = new Client(history, person, `${name}/${++names}`, troubles, stopping.signal)
    clients.push(client)
    return client
  }

  async function asRoot(path: string, body: object, method: 'post' | 'put' = 'post') {
    const response = await root.client.person[method](path, body)
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${JSON.stringify(response.body)}`)
    return response.body
  }

  /** The members of the group are the members of this channel. */
  async function createsCrew(channelId: string): Promise<string> {
    const { group } = await asRoot('/groups', { handle: 'crew', name: 'Crew' })
    await asRoot(`/channels/${channelId}`, { groups: [group.id] }, 'put')
    history.groups.set(group.id, channelId)
    return group.id
  }

  /** A reader with a separate session. */
  async function listens(person: Person, name: string, watched?: readonly string[]): Promise<Reader> {
    const email = emailOf(history, person.id)
    const session = await Person.signIn(baseUrl, email)
    const reader = new Reader(history, session, name, `${name}/${++names}`, watched)
    readers.push(reader)
    await reader.start()
    return reader
  }

  async function creates({ client }: Regular, name: string, isPrivate: boolean, members: string[]) {
    const { told, status } = await client.does((id) => ({
      kind: 'create',
      name: `${name}-${id}`,
      topic: tagged(id),
      isPrivate,
      members,
    }))
    if (!told.id) throw new Error(`the channel ${name} was not made: ${status}`)
    return told.id
  }

  function start() {
    const places = [...contested, history.groups.get(crew)!]
    const surroundings = { history, people, steady, places, contested, conversations, passing: () => passing?.id }
    for (const regular of people) {
      const chooser = choose.fork()
      const act = actsOf(regular, surroundings, chooser)
      loops.push(repeat(chooser, longestPauseMs, act))
    }
    loops.push(rules(choose.fork()), comeAndGo(choose.fork()), receives(choose.fork()), rebuilds(choose.fork()))
  }

  async function repeat(chooser: Chooser, pauseMs: number, act: () => Promise<unknown>) {
    while (!stopping.signal.aborted) {
      await act()
      await delay(chooser.below(pauseMs), undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  /** Memberships, privacy and roles change, by the creators and by an admin, sometimes at the same time. */
  function rules(chooser: Chooser) {
    return repeat(chooser, 600, async () => {
      const place = chooser.any(contested)
      const owner = place === contested[0] ? people[2]! : people[3]!
      const change = (by: Regular) => {
        const members = people.map(({ client }) => client.person.id).filter(() => chooser.chance(0.6))
        const what = chooser.below(3)
        return by.client.does((id) => ({
          kind: 'change',
          place,
          topic: tagged(id),
          ...(what !== 1 && { members }),
          ...(what !== 0 && { isPrivate: chooser.chance(0.7) }),
        }))
      }
      const which = chooser.below(10)
      if (chooser.chance(0.3)) {
        const user = chooser.any(people).client.person.id
        await root.client.does(() => ({ kind: 'group', group: crew, user, isIn: chooser.chance(0.5) }))
      } else if (which < 2) {
        const user = chooser.any(people.slice(3, regulars)).client.person.id
        await root.client.does(() => ({ kind: 'role', user, isAdmin: chooser.chance(0.5) }))
      } else if (which < 4) await Promise.all([change(owner), change(root)])
      else await change(which < 8 ? owner : root)
    })
  }

  /** Temporary channels. */
  function rebuilds(chooser: Chooser) {
    return repeat(chooser, 4_000, async () => {
      if (passing) {
        const { id, owner } = passing
        if (chooser.chance(0.3)) passing = undefined
        await owner.client.does(() => ({ kind: 'drop', place: id }))
        passing = undefined
        return
      }
      const owner = chooser.any(people.slice(0, regulars))
      const { told } = await owner.client.does((id) => ({
        kind: 'create',
        name: `passing-${id}`,
        topic: tagged(id),
        isPrivate: chooser.chance(0.5),
        members: people.slice(0, 3).map(({ client }) => client.person.id),
      }))
      if (told.id) passing = { id: told.id, owner }
    })
  }

  /**
   * Newcomers sign in, open a stream and post a message. Then they log out, are removed or deactivated while their
   * stream is open.
   */
  function comeAndGo(chooser: Chooser) {
    return repeat(chooser, 3_000, async () => {
      const newcomer = await comesIn(`newcomer${++names}`).catch(() => undefined)
      if (!newcomer) return
      const reader = new Reader(history, newcomer.person, newcomer.session, newcomer.session)
      readers.push(reader)
      await reader.start()
      for (let n = chooser.between(1, 10); n > 0 && !stopping.signal.aborted; n--) {
        await newcomer.does((id) => ({
          kind: 'send',
          place: steady[0]!,
          parent: null,
          content: tagged(id, 'good day'),
        }))
        await delay(chooser.below(300))
      }
      if (chooser.chance(0.33)) await newcomer.does(() => ({ kind: 'logout', session: newcomer.session }))
      else await root.client.does(() => ({ kind: chooser.any(['remove', 'deactivate']), user: newcomer.person.id }))
    })
  }

  /** Some readers never disconnect, some disconnect and resume, some read slowly. */
  function receives(chooser: Chooser) {
    return repeat(chooser, 500, async () => {
      const reader = chooser.any(readers.slice(2))
      if (!reader || readers.indexOf(reader) % 3 === 0) return
      if (chooser.chance(0.7)) reader.comeAndGo(chooser.any([10, 100, 500, 3_000]))
      else void reader.dawdle(chooser.any([300, 2_000]))
    })
  }

  return {
    prepare,
    start,
    troubles,
    people,
    readers,
    steady,
    get root() {
      return root
    },
    /** Everybody finishes the current operation. A send without a reply gets one more try. */
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
    async close() {
      await Promise.all(readers.map((reader) => reader.stop()))
      await Promise.all(clients.map((client) => client.close()))
    },
    /** One more message, which everybody must receive. */
    async says(content: string): Promise<Operation> {
      for (;;) {
        const operation = await root.client.does((id) => ({
          kind: 'send',
          place: steady[0]!,
          parent: null,
          content: tagged(id, content),
        }))
        if (operation.outcome === 'ok') return operation
        await delay(200)
      }
    },
  }
}

const emailOf = ({ people }: History, id: string) => `${people.get(id)!.name}@example.com`
