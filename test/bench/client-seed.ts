import { type Signed, seedChannels, seedPeople } from './people.ts'
import { grouped } from './report.ts'
import type { Stores } from './stores.ts'

export const joinedChannels = 200

/** The size of the large server, for the description of a row. */
export const sizeOf = ({ clientPeople, clientChannels }: Stores['options']) =>
  `${grouped(clientPeople)} people, ${grouped(clientChannels)} channels, ${joinedChannels} joined`
const conversations = 40
const messages = 60

export interface LargeServer {
  /** People who have joined channels and talk to each other. */
  clients: Signed[]
  /** Joined by the first client, with a page of messages. */
  channelId: string
}

/** A large organisation: most of its people are away, so many of them have joined 200 channels each. */
export async function seedLargeServer(stores: Stores, present: number): Promise<LargeServer> {
  const { clientPeople, clientChannels } = stores.options
  const people = await seedPeople(stores, clientPeople)
  const channels = await seedChannels(stores, clientChannels)
  const clients = people.slice(0, present)
  const ids = clients.map(({ userId }) => userId)
  const client = await stores.database.pool.connect()
  try {
    // A million memberships take minutes.
    await client.query('set statement_timeout = 0')
    await client.query(
      `insert into channel_members (channel_id, user_id, joined_at)
       select ($2::uuid[])[1 + (person * 13 + n) % cardinality($2::uuid[])], ($1::uuid[])[person], $3::bigint
       from generate_series(1, cardinality($1::uuid[])) person, generate_series(0, ${joinedChannels - 1}) n
       on conflict do nothing`,
      [ids, channels, Date.now()],
    )
    await client.query('vacuum analyze')
  } finally {
    client.release(true)
  }
  return { clients, channelId: channels[13 % channels.length]! }
}

/** What the first client finds on the server: people to talk to, and a channel with a page of messages. */
export async function talkToFirst(
  post: (path: string, body: object, token: string) => Promise<unknown>,
  { clients, channelId }: LargeServer,
): Promise<void> {
  const [first, ...others] = clients as [Signed, ...Signed[]]
  for (const { token } of others.slice(0, conversations)) {
    await post('/conversations', { targetUserId: first.userId }, token)
  }
  for (let n = 0; n < messages; n++) {
    const content = `Message ${n}: shall we meet at the usual place, or has somebody a better idea for today?`
    await post(`/channels/${channelId}/messages`, { content }, others[n % others.length]!.token)
  }
}
