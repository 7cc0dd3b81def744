import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RunningProcess } from '@parley/embedded'
import { expect, test } from 'vitest'
import { cleanUp, processTree, run, signIn, startReady, stillRunning, temporaryDirectory } from './launcher.testing.ts'

test('npm start serves, refuses a second start, and keeps its data over a stop and kill -9', {
  timeout: 180_000,
}, async () => {
  const directory = temporaryDirectory()
  const seen: RunningProcess[] = []
  cleanUp(directory, () => seen)
  const start = async () => {
    const running = await startReady('start', directory)
    seen.push(...(await processTree(running.pid)))
    expect((await fetch(`${running.address}/health/ready`)).status).toBe(200)
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
  expect(await stillRunning(seen)).toEqual([])

  const third = await start()
  third.signal('SIGKILL')
  await third.exit
  expect((await stillRunning(seen)).length).toBeGreaterThan(0)

  const fourth = await start()
  for (const { pid } of await processTree(fourth.pid)) process.kill(pid, 'SIGKILL')
  await fourth.exit

  const fifth = await start()
  const { messages } = (await (await signIn(fifth.address)).get(`/channels/${channel.id}/messages`)) as {
    messages: { content: string }[]
  }
  expect(messages.map(({ content }) => content)).toEqual(['kept through everything'])
  fifth.signal('SIGTERM')
  expect(await fifth.exit).toEqual({ code: 0, signal: null })
  expect(await stillRunning(seen)).toEqual([])
})

test('npm start lists the faults of the configuration and starts nothing', async () => {
  const directory = join(temporaryDirectory(), 'data')
  const refused = run('start', directory, ['--auth.authMode=magic-link', '--server.port=many', '--nonsense=1'])

  expect(await refused.exit).toMatchObject({ code: 1 })
  for (const key of ['email.host', 'server.port', '--nonsense']) expect(refused.output()).toContain(key)
  expect(existsSync(directory)).toBe(false)
})

test('a stop during the start leaves no process behind', { timeout: 60_000 }, async () => {
  const directory = temporaryDirectory()
  const running = run('start', directory)
  await running.says(/Starting/)
  const seen = await processTree(running.pid)
  cleanUp(directory, () => seen)
  running.signal('SIGTERM')

  expect(await running.exit).toEqual({ code: 0, signal: null })
  expect(running.output()).not.toContain('ready at')
  expect(await stillRunning(seen)).toEqual([])
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
