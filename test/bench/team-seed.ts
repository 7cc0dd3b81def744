import { uuidv7 } from '@parley/database'
import { type ConnectionPool, openPool, postOf } from './http-connection.ts'
import { type Signed, seedChannels, seedMembers, seedPeople } from './people.ts'
import { openScene, type Scene } from './scene.ts'
import { fillWithMessages, untilProjected } from './search-seed.ts'
import { type Stores, startParley } from './stores.ts'

const publicChannels = 1_000
/** Public channels that each person has joined. */
const joinedChannels = 10
const privateMembers = 30
const privateHistory = 20
const threads = 400
const repliesToEach = 3
const sendingAtOnce = 64

/** A team with a history: who is in which channel, and which messages can be read there. */
export interface Team {
  people: Signed[]
  publicChannels: string[]
  /** Public channels by their members. */
  publicOf: Map<string, string[]>
  /** Private channels by their members. */
  privateOf: Map<string, string[]>
  /** Conversations by their participants. */
  conversationsOf: Map<string, string[]>
  /** Ids of the people with whom each person has a conversation. */
  partnersOf: Map<string, string[]>
  /** Messages of public channels, in the middle of their history. */
  oldMessages: { id: string; channelId: string }[]
  threads: string[]
  words: string[]
}

/** Writes people, channels and messages directly into the database; the other messages are sent through the API. */
export async function seedTeam(scene: Scene, stores: Stores): Promise<Team> {
  const people = await seedPeople(stores, Math.max(...stores.options.teamPeople))
  const channels = await seedChannels(stores, publicChannels)
  await fillWithMessages(stores, stores.options.teamMessages)
  const { pool } = stores.database
  const { rows } = await pool.query(`select from channels where kind = 'private' limit 1`)
  if (rows.length === 0) {
    await addPrivateChannels(stores, people)
    await talk(scene, stores, people, channels)
  }
  await seedMembers(
    stores,
    people.flatMap((author, person) =>
      Array.from({ length: joinedChannels }, (_, n) => ({ author, channelId: channels[joinedAt(person, n)]! })),
    ),
  )
  await pool.query(everybodyIsOnline)
  await pool.query('vacuum analyze')
  return readTeam(stores, people, channels)
}

/** Each person is in six of them on average. */
async function addPrivateChannels({ database: { pool } }: Stores, people: readonly Signed[]) {
  const now = Date.now()
  const count = Math.ceil(people.length / 5)
  const ids = Array.from({ length: count }, () => uuidv7())
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at)
     select id, 'private', 'p-' || id, 'p-' || id, $2 from unnest($1::uuid[]) id`,
    [ids, now],
  )
  const members = ids.flatMap((_, channel) =>
    Array.from({ length: privateMembers }, (_, n) => people[memberAt(channel, n, people.length)]!.userId),
  )
  await pool.query(
    `insert into channel_members (channel_id, user_id, joined_at)
     select ($1::uuid[])[1 + (n - 1) / ${privateMembers}], user_id, $3 from unnest($2::uuid[]) with ordinality m (user_id, n)
     on conflict do nothing`,
    [ids, members, now],
  )
}

const memberAt = (channel: number, n: number, people: number) => (channel * 5 + n * 37) % people

const joinedAt = (person: number, n: number) => (person * 7 + n * 101) % publicChannels

/**
 * Sends the messages of private channels, threads and conversations, and waits until the search index has all of them.
 */
async function talk(scene: Scene, stores: Stores, people: readonly Signed[], channels: readonly string[]) {
  // The measured server will use the same directory, so this server ends first.
  const talking = await scene.keep(openScene, (opened) => opened.end())
  const parley = await startParley(talking, stores, 'deploy/local/solo.ts')
  const api = openPool(parley.port)
  const { pool } = stores.database
  const tokens = new Map(people.map(({ userId, token }) => [userId, token]))
  const members = await pool.query<{ channel_id: string; user_ids: string[] }>(
    `select channel_id, array_agg(user_id::text) as user_ids from channel_members group by channel_id`,
  )
  try {
    await atOnce(members.rows, async ({ channel_id, user_ids }) => {
      for (let n = 0; n < privateHistory; n++) {
        const token = tokens.get(user_ids[n % user_ids.length]!)!
        await send(api, `/channels/${channel_id}/messages`, { content: `Between us: message ${n}` }, token)
      }
    })
    await atOnce(people, async ({ token }, n) => {
      await send(api, '/conversations', { targetUserId: people[(n + 1) % people.length]!.userId }, token)
    })
    await atOnce(Array.from({ length: threads }), async (_, n) => {
      const { token } = people[n % people.length]!
      const said = await send(
        api,
        `/channels/${channels[n % channels.length]}/messages`,
        { content: 'A question' },
        token,
      )
      const { message } = JSON.parse(said) as { message: { id: string } }
      for (let reply = 0; reply < repliesToEach; reply++)
        await send(api, `/messages/${message.id}/thread`, { content: `Answer ${reply}` }, people[reply]!.token)
    })
    await untilProjected(stores)
  } finally {
    api.close()
    await talking.end()
  }
}

export async function send(api: ConnectionPool, path: string, body: object, token: string): Promise<string> {
  const response = await api.send(postOf(path, JSON.stringify(body), { authorization: `Bearer ${token}` }))
  if (response.status !== 200) throw new Error(`POST ${path} was answered ${response.status}: ${response.body}`)
  return response.body
}

async function atOnce<Item>(items: readonly Item[], work: (item: Item, index: number) => Promise<void>) {
  let next = 0
  const workSome = async () => {
    while (next < items.length) {
      const index = next++
      await work(items[index]!, index)
    }
  }
  await Promise.all(Array.from({ length: sendingAtOnce }, workSome))
}

/** As in the middle of a day: everybody is online already, so opening a stream changes nobody's presence. */
const everybodyIsOnline = `
  insert into presence (user_id, streams, shown, last_seen, changed_by)
  select id, '{}', 'online', now_ms(), pg_current_xact_id() from users where removed_at is null
  on conflict (user_id) do update set shown = 'online', streams = '{}', set_by_hand = null, offline_at = null`

async function readTeam({ database: { pool } }: Stores, people: Signed[], channels: string[]): Promise<Team> {
  const memberships = await pool.query<{ user_id: string; kind: string; id: string }>(
    `select user_id, kind, channels.id from channel_members join channels on channels.id = channel_id
     where deleted_at is null`,
  )
  const publicOf = new Map<string, string[]>()
  const privateOf = new Map<string, string[]>()
  const conversationsOf = new Map<string, string[]>()
  for (const { user_id, kind, id } of memberships.rows) {
    const map = kind === 'direct' ? conversationsOf : kind === 'private' ? privateOf : publicOf
    const known = map.get(user_id)
    const wire = kind === 'direct' ? `dm:${id}` : id
    if (known) known.push(wire)
    else map.set(user_id, [wire])
  }
  const pairs = await pool.query<{ one: string; other: string }>(
    `select one.user_id as one, other.user_id as other
     from channel_members one join channel_members other on other.channel_id = one.channel_id and other.user_id <> one.user_id
       join channels on channels.id = one.channel_id
     where kind = 'direct'`,
  )
  const partnersOf = new Map(
    [...Map.groupBy(pairs.rows, ({ one }) => one)].map(([one, own]) => [one, own.map(({ other }) => other)]),
  )
  const old = await pool.query<{ id: string; channelId: string }>(
    `select id, channel_id as "channelId" from (
       select m.id, m.channel_id, row_number() over (partition by m.channel_id order by m.seq) as place,
         count(*) over (partition by m.channel_id) as total
       from messages m where m.thread_id is null and m.deleted_at is null and m.channel_id = any($1::uuid[])
     ) said where place between total / 2 and total / 2 + 4`,
    [channels],
  )
  const parents = await pool.query<{ id: string }>(
    `select message_id as id from threads join messages m on m.id = message_id join channels c on c.id = channel_id
     where c.kind = 'public' limit 400`,
  )
  const said = await pool.query<{ content: string }>(
    'select content from messages where thread_id is null and seq % 97 = 5 limit 500',
  )
  return {
    people,
    publicChannels: channels,
    publicOf,
    privateOf,
    conversationsOf,
    partnersOf,
    oldMessages: old.rows,
    threads: parents.rows.map(({ id }) => id),
    words: said.rows.map(({ content }, n) => content.split(' ')[n % content.split(' ').length]!).filter(Boolean),
  }
}
