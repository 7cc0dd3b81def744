/**
 * `node test/faults/silence.ts`: measures for how long a person who loses access still receives events and is still
 * accepted, in a cluster of two replicas under load: without a fault, with Redis killed at the same moment, and with a
 * realtime node frozen for five seconds. docs/benchmarks.md has the figures. Exits with 1 when it takes longer than two
 * seconds.
 */
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Person } from '@parley/test'
import { appUrl, createBrowser } from '@parley/test/browser'
import { startOpenid } from '@parley/test/openid'
import { launch } from '../src/launch.ts'
import { signal } from '../src/processes.ts'
import { PersistentSender } from './persistent-sender.ts'

const promisedMs = 2_000
const frozenMs = 5_000
/** Enough streams to have some on every node. */
const streamsEach = 8
const client = { clientId: 'parley', clientSecret: 'of tests', redirectUri: `${appUrl}/auth/oauth/corp/callback` }
const say = (line: string) => void process.stdout.write(`${line}\n`)

const openid = await startOpenid(client)
const { clientId, clientSecret } = client
const corp = { id: 'corp', name: 'Directory', issuer: openid.url, clientId, clientSecret }
const installation = await launch('cluster', {
  replicas: 2,
  env: { PARLEY_AUTH_APP_URL: appUrl, PARLEY_OAUTH_CUSTOM: JSON.stringify([corp]) },
})
const { baseUrl } = installation
for (const name of ['SIGINT', 'SIGTERM'])
  process.once(name, () => void installation.discard().finally(() => process.exit(1)))

const ada = await Person.signIn(baseUrl, 'admin@example.com')
const must = async (response: ReturnType<Person['get']>) => {
  const { status, body } = await response
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}
const scim = new Person(
  baseUrl,
  { id: '', userName: 'SCIM' },
  (await must(ada.post('/admin/scim-clients', { name: 'x' }))).token,
)
const talk = await ada.creates({ name: 'talk' })
const senders = await Promise.all(
  ['ann', 'bob', 'cal', 'dan'].map(
    async (name) => new PersistentSender(await Person.signIn(baseUrl, `${name}@example.com`), talk),
  ),
)

/** A person, and the way in which they lose access. */
interface Way {
  person: Person
  end: () => Promise<unknown>
}
let count = 0
const newcomer = () => Person.signIn(baseUrl, `leaver${++count}@example.com`)
const inactive = ({ userName }: Person) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName: `${userName}@example.com`,
  active: false,
})

const ways: Record<string, () => Promise<Way>> = {
  async 'SCIM `active: false`'() {
    const person = await newcomer()
    return { person, end: () => must(scim.put(`/scim/v2/Users/${person.id}`, inactive(person))) }
  },
  async 'logout token of the provider'() {
    openid.signedIn.claims = { email: 'cleo@example.com', email_verified: true, name: 'Cleo' }
    const { access_token } = await createBrowser(baseUrl, null).arrive(`${appUrl}/auth/oauth/corp`)
    const person = new Person(baseUrl, { id: '', userName: 'Cleo' }, access_token!)
    return { person, end: () => openid.logOut(`${baseUrl}/auth/oauth/corp/backchannel-logout`) }
  },
  async 'deactivated by an admin'() {
    const person = await newcomer()
    return { person, end: () => must(ada.put(`/users/${person.id}/active`, { isActive: false })) }
  },
  async 'removed by an admin'() {
    const person = await newcomer()
    return { person, end: () => must(ada.delete(`/users/${person.id}`)) }
  },
  async 'API token ended by an admin'() {
    const owner = await newcomer()
    const { id, token } = await must(owner.post('/auth/tokens', { name: 'x', scopes: ['read'] }))
    const person = new Person(baseUrl, { id: owner.id, userName: 'program' }, token)
    return { person, end: () => must(ada.delete(`/users/${owner.id}/tokens/${id}`)) }
  },
}

const faults: Record<string, () => Promise<() => Promise<void>>> = {
  nothing: async () => async () => {},
  async 'Redis killed'() {
    await installation.kill('redis-server', 'SIGKILL')
    return () => delay(3_000)
  },
  async 'a realtime node frozen for 5 s'() {
    const pid = await installation.kill('realtime', 'SIGSTOP', count)
    await delay(300)
    return async () => {
      await delay(frozenMs)
      signal(pid, 'SIGCONT')
      await delay(2_000)
    }
  },
}

/** Reads a stream byte by byte, and returns the time of the last byte, without the closing comment of the server. */
function listens(person: Person) {
  const told = { at: 0, isOpen: false }
  const opened = Promise.withResolvers<void>()
  const request = http.get(`${baseUrl}/events?token=${person.token}`, { agent: false }, (response) => {
    response.on('data', (bytes: Buffer) => {
      opened.resolve()
      told.isOpen = true
      if (!bytes.toString().startsWith(': ended')) told.at = performance.now()
    })
    response.on('close', () => {
      told.isOpen = false
    })
    response.on('error', () => {})
  })
  request.on('error', () => opened.resolve())
  return { told, opened: opened.promise, close: () => request.destroy() }
}

/**
 * Sends requests again and again, eight at a time, so that every replica gets some. Returns the start of the last
 * accepted request.
 */
function asks(person: Person) {
  const asked = { letInAt: 0, refusedAt: Infinity }
  let isOver = false
  const loops = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const at = performance.now()
      const { status } = await person.get('/channels').catch(() => ({ status: 0 }))
      if (status === 200) asked.letInAt = Math.max(asked.letInAt, at)
      if (status === 401) asked.refusedAt = Math.min(asked.refusedAt, performance.now())
      await delay(20)
    }
  })
  return {
    asked,
    async stop() {
      isOver = true
      await Promise.all(loops)
    },
  }
}

async function measure(way: () => Promise<Way>, fault: () => Promise<() => Promise<void>>) {
  const { person, end } = await way()
  const streams = Array.from({ length: streamsEach }, () => listens(person))
  await Promise.all(streams.map(({ opened }) => opened))
  const asking = asks(person)
  await delay(500)
  const after = await fault()
  const begun = performance.now()
  await end()
  const answered = performance.now()
  await Promise.all([after(), delay(promisedMs + 1_000)])
  await asking.stop()
  const last = Math.max(...streams.map(({ told }) => told.at)) - begun
  const open = streams.filter(({ told }) => told.isOpen).length
  for (const { close } of streams) close()
  return {
    answeredMs: answered - begun,
    lastByteMs: last,
    lastLetInMs: asking.asked.letInAt - begun,
    refusedMs: asking.asked.refusedAt - begun,
    open,
  }
}

let isBroken = false
try {
  for (const sender of senders) sender.start()
  say(
    '| Way | beside | request answered | last byte on 8 streams | last request let in | first one refused | streams open |',
  )
  for (const [fault, breaks] of Object.entries(faults)) {
    for (const [name, way] of Object.entries(ways)) {
      const { answeredMs, lastByteMs, lastLetInMs, refusedMs, open } = await measure(way, breaks)
      const shown = [answeredMs, lastByteMs, lastLetInMs, refusedMs].map((ms) => `${Math.round(ms)} ms`)
      say(`| ${[name, fault, ...shown, open].join(' | ')} |`)
      isBroken ||= Math.max(lastByteMs, lastLetInMs) > promisedMs || open > 0
    }
  }
} finally {
  await Promise.all(senders.map((sender) => sender.stop()))
  await openid.close()
  await installation.discard()
}
process.exitCode = isBroken ? 1 : 0
