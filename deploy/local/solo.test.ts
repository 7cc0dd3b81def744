import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  cleanUp,
  family,
  type ProcessLine,
  run,
  signIn,
  startReady,
  stillRunning,
  temporaryDirectory,
} from './launcher.testing.ts'

test('npm start: sign in, talk, stop, start again, survive kill -9; one at a time', { timeout: 180_000 }, async () => {
  const directory = temporaryDirectory()
  const seen: ProcessLine[] = []
  cleanUp(directory, () => seen)
  const start = async () => {
    const running = await startReady('start', directory)
    seen.push(...family(running.pid))
    return running
  }

  const first = await start()
  const admin = await signIn(first.address)
  const { channel } = (await admin.post('/channels', { name: 'plans' })) as { channel: { id: string } }
  const stream = await fetch(`${first.address}/events?token=${admin.token}`)
  const events = stream.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  await admin.post(`/channels/${channel.id}/messages`, { content: 'kept through everything' })
  await expect(textUntil(events, 'kept through everything')).resolves.toContain('NEW_MESSAGE')

  const second = run('start', directory)
  expect(await second.exit).toMatchObject({ code: 1 })
  expect(second.output()).toContain(`pid ${first.pid}`)

  const secrets = ['secrets/jwt', 'postgres/password', 'redis/password'].map(
    (file) => statSync(join(directory, file)).mode,
  )
  expect(secrets.map((mode) => mode & 0o777)).toEqual([0o600, 0o600, 0o600])

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGTERM'] as const) first.signal(signal)
  expect(await first.exit).toEqual({ code: 0, signal: null })
  expect(stillRunning(seen)).toEqual([])

  const third = await start()
  third.signal('SIGKILL')
  await third.exit
  expect(stillRunning(seen).length).toBeGreaterThan(0)

  const fourth = await start()
  for (const { pid } of family(fourth.pid)) process.kill(pid, 'SIGKILL')
  await fourth.exit

  const fifth = await start()
  const { messages } = (await (await signIn(fifth.address)).get(`/channels/${channel.id}/messages`)) as {
    messages: { content: string }[]
  }
  expect(messages.map(({ content }) => content)).toEqual(['kept through everything'])
  fifth.signal('SIGTERM')
  expect(await fifth.exit).toEqual({ code: 0, signal: null })
  expect(stillRunning(seen)).toEqual([])
})

test('faults of the configuration are listed, and nothing is started', async () => {
  const directory = join(temporaryDirectory(), 'data')
  const refused = run('start', directory, ['--auth.authMode=magic-link', '--server.port=many', '--nonsense=1'])

  expect(await refused.exit).toMatchObject({ code: 1 })
  for (const key of ['email.host', 'server.port', '--nonsense']) expect(refused.output()).toContain(key)
  expect(existsSync(directory)).toBe(false)
})

test('a stop during the start leaves nothing behind', { timeout: 60_000 }, async () => {
  const directory = temporaryDirectory()
  const running = run('start', directory)
  await running.says(/Starting/)
  const seen = family(running.pid)
  cleanUp(directory, () => seen)
  running.signal('SIGTERM')

  expect(await running.exit).toEqual({ code: 0, signal: null })
  expect(running.output()).not.toContain('ready at')
  expect(stillRunning(seen)).toEqual([])
})

async function textUntil(chunks: AsyncIterator<string>, wanted: string): Promise<string> {
  let text = ''
  while (!text.includes(wanted)) {
    const { value, done } = await chunks.next()
    if (done) throw new Error(`the stream ended without ${wanted}: ${text}`)
    text += value
  }
  return text
}
