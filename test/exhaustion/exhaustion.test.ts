import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Person } from '@parley/test'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'
import { attack } from './attack.ts'

/**
 * With `TEST_LONG=1` the attack lasts a minute, and solo is tested too. The waiting times of the others are printed;
 * docs/reliability.md has the figures.
 */
const seconds = process.env.TEST_LONG === undefined ? 6 : 60
const password = 'the password of these tests'
/** The number of other clients that work at the same time. */
const workers = 6

describe.each(usualTopologies)('%s', (topology) => {
  test('while one client uses all that it can, others sign in, send and read, and the server is ready', {
    timeout: 240_000,
  }, async () => {
    const installation = await launch(topology, {
      env: { PARLEY_AUTH_AUTH_MODE: 'password', INITIAL_USER_PASSWORD: password },
    })
    onTestFinished(() => installation.discard())
    const { admin, mallory, channel, filename } = await scene(installation)
    const { baseUrl } = installation
    const stop = attack({ baseUrl, token: mallory.token!, channelId: channel.id, filename })
    const waits: Record<string, number[]> = {}
    const failures: string[] = []
    const until = performance.now() + seconds * 1000

    async function measured(what: string, ask: () => Promise<{ status: number; body?: unknown }>) {
      const begun = performance.now()
      const { status, body } = await ask()
      waits[what] ??= []
      waits[what].push(performance.now() - begun)
      if (status !== 200) failures.push(`${what}: ${status} ${JSON.stringify(body)}`)
    }
    const path = `/channels/${channel.id}/messages`
    const work = async () => {
      while (performance.now() < until) {
        await measured('send', () => admin.post(path, { content: randomUUID() }))
        await measured('read', () => admin.get(path))
        await measured('who am I', () => admin.get('/auth/me'))
      }
    }
    const look = async () => {
      while (performance.now() < until) {
        await measured('ready', () => admin.get('/health/ready'))
        await measured('sign in', () => signIn(installation))
        await delay(500)
      }
    }
    await Promise.all([look(), ...Array.from({ length: workers }, work)])
    await stop()

    for (const [what, times] of Object.entries(waits)) process.stdout.write(`${topology}, ${what}: ${summary(times)}\n`)
    expect(failures).toEqual([])
  })
})

/** An admin, a malicious member, a channel, and a file that the member may read. */
async function scene(installation: Installation) {
  const { token, user } = await signIn(installation)
  const admin = new Person(installation.baseUrl, user, token)
  const email = 'mallory@example.com'
  await admin.post('/users/add', { email, role: 'user', password })
  const other = await signIn(installation, email)
  const mallory = new Person(installation.baseUrl, other.user, other.token)
  const { filename } = await mallory.uploads('large.txt', Buffer.alloc(20 * 1024 * 1024, 'x'))
  return { admin, mallory, channel: await admin.creates({ name: 'attacked' }), filename: filename as string }
}

async function signIn({ baseUrl }: Installation, email = 'admin@example.com') {
  const anybody = Person.nobody(baseUrl)
  const { status, body } = await anybody.post('/auth/password-login', { email, password })
  const token = body.accessToken as string
  if (status !== 200) return { status, body, token: '', user: { id: '', userName: '' } }
  const { user } = (await new Person(baseUrl, { id: '', userName: '' }, token).get('/auth/me')).body
  return { status, body, token, user: user as { id: string; userName: string } }
}

function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]!
}

const summary = (times: number[]) =>
  `${times.length} requests, p50 ${percentile(times, 50).toFixed(0)} ms, p99 ${percentile(times, 99).toFixed(0)} ms`
