/**
 * `node test/bench/scim-by-hand.ts --people 10000 --groups 500`: provisions an organisation by SCIM, eight requests at a time, on a fresh
 * solo installation without limits of requests, and changes 1,000 members by one PATCH. docs/benchmarks.md has the figures.
 */
import { parseArgs } from 'node:util'
import { Person } from '@parley/test'
import { Agent, request } from 'undici'
import { launch } from '../src/launch.ts'

const { values } = parseArgs({
  options: {
    people: { type: 'string', default: '10000' },
    groups: { type: 'string', default: '500' },
    members: { type: 'string', default: '100' },
  },
})
const [people, groups, members] = [values.people, values.groups, values.members].map(Number) as [number, number, number]
const say = (line: string) => void process.stdout.write(`${line}\n`)
const atOnce = 8

const installation = await launch('solo')
try {
  const ada = await Person.signIn(installation.baseUrl, 'admin@example.com')
  const { token } = (await ada.post('/admin/scim-clients', { name: 'bench' })).body
  const dispatcher = new Agent({ connections: atOnce })
  const times: number[] = []

  async function scim(method: 'POST' | 'PATCH' | 'GET', path: string, body?: object) {
    const begun = performance.now()
    const response = await request(`${installation.baseUrl}/scim/v2${path}`, {
      dispatcher,
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
      body: body ? JSON.stringify(body) : null,
    })
    const text = await response.body.text()
    times.push(performance.now() - begun)
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Calls a function with 0, 1, 2 and so on, some calls at a time, and prints how long all of them took. */
  async function timed(what: string, count: number, act: (n: number) => Promise<unknown>) {
    times.length = 0
    const begun = performance.now()
    let next = 0
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (next < count) await act(next++)
      }),
    )
    const seconds = (performance.now() - begun) / 1_000
    const p99 = times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)]!
    say(
      `${what}: ${count} in ${seconds.toFixed(1)} s, ${Math.round((count / seconds) * 60)} a minute, p99 ${Math.round(p99)} ms`,
    )
  }

  const ids: string[] = []
  await timed('people created', people, async (n) => {
    const name = { givenName: 'Person', familyName: `Number ${n}` }
    ids[n] = (
      await scim('POST', '/Users', { userName: `person${n}@example.org`, externalId: `e${n}`, name, active: true })
    ).id
  })
  await timed('people looked up by userName', Math.min(1_000, people), (n) =>
    scim('GET', `/Users?filter=${encodeURIComponent(`userName eq "person${n}@example.org"`)}`),
  )
  const groupIds: string[] = []
  await timed(`groups of ${members} created`, groups, async (n) => {
    const some = Array.from({ length: members }, (_, k) => ({ value: ids[(n * 97 + k) % people] }))
    groupIds[n] = (await scim('POST', '/Groups', { displayName: `Group ${n}`, externalId: `g${n}`, members: some })).id
  })
  const thousand = ids.slice(-1_000).map((value) => ({ value }))
  for (const [what, op] of [
    ['added', 'Add'],
    ['removed', 'Remove'],
  ]) {
    await timed(`PATCH of ${thousand.length} members, ${what}`, 1, () =>
      scim('PATCH', `/Groups/${groupIds[0]}`, { Operations: [{ op, path: 'members', value: thousand }] }),
    )
  }
  await timed('members added to groups one by one', Math.min(500, groups), (n) =>
    scim('PATCH', `/Groups/${groupIds[n]}`, {
      Operations: [{ op: 'Add', path: 'members', value: [{ value: ids[(n * 31 + 5_000) % people] }] }],
    }),
  )
  await timed('people deactivated', Math.min(500, people), (n) =>
    scim('PATCH', `/Users/${ids[n]}`, { Operations: [{ op: 'Replace', path: 'active', value: 'False' }] }),
  )
} finally {
  await installation.discard()
}
