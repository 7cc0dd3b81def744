import { type ConnectionPool, requestOf } from './http-connection.ts'
import type { Action } from './open-loop.ts'
import type { Signed } from './people.ts'
import type { Team } from './team-seed.ts'
import type { TeamStreams } from './team-streams.ts'

const postsPerPersonAndHour = 2.5
/** Each action is done at least this often, even if the mix says less: a 99th percentile needs enough samples. */
const leastPerSecond = 1
/** The web client asks about this number of people at most. */
const maxPresent = 200

/** How often each action is done for each message that is posted: the public action mix of Mattermost's load tests. */
const mix = {
  'post a message': 1,
  'switch to a channel': 6.5,
  'scroll back in history': 2,
  'mark as read': 1,
  'open a direct conversation': 1,
  'open a thread': 0.9,
  'come back after a lost connection': 0.14,
  react: 0.13,
  'edit a message': 0.04,
  'list people': 0.03,
  'search messages': 0.02,
}
const askPresence = 'see who is online'
export type ActionName = keyof typeof mix | typeof askPresence

/** The web client asks once a minute who of the people in its sidebar is online. Mattermost's mix has nothing like it. */
const presencePerPersonAndHour = 60

/** How often a team of this size does each action, per second. */
export const ratesOf = (count: number): Record<ActionName, number> => {
  const postsPerSecond = (count * postsPerPersonAndHour) / 3_600
  const rates = Object.entries(mix).map(([name, perPost]) => [name, postsPerSecond * perPost])
  return Object.fromEntries([...rates, [askPresence, (count * presencePerPersonAndHour) / 3_600]])
}

/**
 * The actions of the first `count` people of the team; person n has stream n. `share` fixes where they talk: below 0.1
 * in public channels, below 0.7 in private channels, otherwise in conversations with one person. Without it the place
 * is random.
 */
export function actionsOf(
  team: Team,
  count: number,
  api: ConnectionPool,
  streams: TeamStreams,
  share?: number,
): Action[] {
  const anyone = () => team.people[Math.floor(Math.random() * count)]!
  const own: { id: string; token: string }[] = []

  async function ask(method: string, path: string, { token }: { token: string }, body?: object): Promise<string> {
    const response = await api.send(requestOf(method, path, { authorization: `Bearer ${token}` }, body))
    if (response.status !== 200)
      throw new Error(`${method} ${path} was answered ${response.status}: ${response.body.slice(0, 500)}`)
    return response.body
  }

  /** Where people talk: most messages are for few people. */
  function somewhere({ userId }: Signed): string {
    const chosen = share ?? Math.random()
    if (chosen < 0.1) return `/channels/${oneOf(team.publicOf.get(userId))}`
    const [channel, conversation] = [oneOf(team.privateOf.get(userId)), oneOf(team.conversationsOf.get(userId))]
    return chosen < 0.7 && channel ? `/channels/${channel}` : `/conversations/${conversation}`
  }

  /** As the web client does it: it asks about the people with whom the person talks. */
  const seeWhoIsOnline = (person: Signed) => {
    const partners = (team.partnersOf.get(person.userId) ?? []).slice(0, maxPresent)
    return ask('GET', `/presence?ids=${partners.join(',')}`, person)
  }

  const acts: Record<ActionName, () => Promise<unknown>> = {
    async 'post a message'() {
      const person = anyone()
      const content = 'Shall we meet at the usual place, or has somebody a better idea for today?'
      const { message } = JSON.parse(await ask('POST', `${somewhere(person)}/messages`, person, { content }))
      own.push({ id: message.id, token: person.token })
      if (own.length > 500) own.shift()
    },
    'switch to a channel'() {
      const person = anyone()
      const path = Math.random() < 0.5 ? `/channels/${oneOf(team.publicOf.get(person.userId))}` : somewhere(person)
      return ask('GET', `${path}/messages`, person)
    },
    'scroll back in history'() {
      const { id, channelId } = oneOf(team.oldMessages)
      return ask('GET', `/channels/${channelId}/messages?before=${id}`, anyone())
    },
    'mark as read'() {
      const person = anyone()
      const channel = oneOf(team.publicOf.get(person.userId))
      return ask('PUT', `/channels/${channel}/read`, person, { seq: Math.ceil(Math.random() * 200) })
    },
    'open a direct conversation'() {
      const [person, other] = two(anyone)
      return ask('POST', '/conversations', person, { targetUserId: other.userId })
    },
    'open a thread': () => ask('GET', `/messages/${oneOf(team.threads)}/thread`, anyone()),
    async 'come back after a lost connection'() {
      const index = Math.floor(Math.random() * count)
      await streams.reopen(index)
      await seeWhoIsOnline(team.people[index]!)
    },
    react: () =>
      ask('POST', `/messages/${oneOf(team.oldMessages).id}/reactions`, anyone(), {
        reaction: oneOf(['👍', '🎉', '👀']),
      }),
    async 'edit a message'() {
      const message = oneOf(own)
      if (message) await ask('PUT', `/messages/${message.id}`, message, { content: `Shall we meet? ${Math.random()}` })
    },
    'list people': () => ask('GET', '/users?limit=200', anyone()),
    'search messages': () => ask('GET', `/search/messages?${new URLSearchParams({ q: oneOf(team.words) })}`, anyone()),
    [askPresence]: () => seeWhoIsOnline(anyone()),
  }
  return Object.entries(ratesOf(count)).map(([name, perSecond]) => ({
    name,
    perSecond: Math.max(leastPerSecond, perSecond),
    act: async () => void (await acts[name as ActionName]()),
  }))
}

const oneOf = <Item>(items: readonly Item[] = []): Item => items[Math.floor(Math.random() * items.length)]!

/** Never the same one twice. */
function two(anyone: () => Signed): [Signed, Signed] {
  const first = anyone()
  for (;;) {
    const second = anyone()
    if (second !== first) return [first, second]
  }
}
