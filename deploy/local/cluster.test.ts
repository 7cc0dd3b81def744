import type { RunningProcess } from '@parley/embedded'
import { expect, test } from 'vitest'
import { cleanUp, processTree, signIn, startReady, stillRunning, temporaryDirectory } from './launcher.testing.ts'

const services = ['admin', 'auth', 'directory', 'gateway', 'integrations', 'messaging', 'realtime', 'web', 'worker']

test('npm run cluster restarts a process that dies, and no process outlives the launcher', {
  timeout: 240_000,
}, async () => {
  const directory = temporaryDirectory()
  const seen: RunningProcess[] = []
  cleanUp(directory, () => seen)
  const running = await startReady('cluster', directory, ['--replicas', '2'])
  seen.push(...(await processTree(running.pid)))
  expect(seen.flatMap(serviceOf).sort()).toEqual(services.flatMap((name) => [name, name]))
  expect(seen.filter(({ command }) => /postgres:\/\/|secret|password/i.test(command))).toEqual([])

  const admin = await signIn(running.address)
  const { channel } = (await admin.post('/channels', { name: 'plans' })) as { channel: { id: string } }
  const path = `/channels/${channel.id}/messages`
  await admin.post(path, { content: 'before' })

  const victim = seen.find((each) => serviceOf(each)[0] === 'messaging')!
  process.kill(victim.pid, 'SIGKILL')
  await running.says(new RegExp(`messaging-\\d \\(pid ${victim.pid}\\) has ended \\(SIGKILL\\), starting it again`))
  const [, pid] = await running.says(/messaging-\d is running again \(pid (\d+)\)/)
  expect((await processTree(running.pid)).find((each) => each.pid === Number(pid))?.command).toBe(victim.command)
  // Both replicas take turns, so one of these requests reaches the new one as soon as it listens. Until then the other
  // one serves all.
  for (const content of ['after 1', 'after 2', 'after 3', 'after 4']) await admin.post(path, { content })
  const { messages } = (await admin.get(path)) as { messages: { content: string; seq: number }[] }
  expect(messages.map(({ content, seq }) => [seq, content])).toEqual(
    ['before', 'after 1', 'after 2', 'after 3', 'after 4'].map((content, index) => [index + 1, content]),
  )

  seen.push(...(await processTree(running.pid)))
  running.signal('SIGKILL')
  await running.exit
  await expect.poll(async () => (await stillRunning(seen)).flatMap(serviceOf), { timeout: 10_000 }).toEqual([])

  const next = await startReady('cluster', directory)
  const processes = await processTree(next.pid)
  seen.push(...processes)
  expect(processes.flatMap(serviceOf).sort()).toEqual(services)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) next.signal(signal)
  expect(await next.exit).toEqual({ code: 0, signal: null })
  expect(await stillRunning(seen)).toEqual([])
})

const serviceOf = ({ command }: RunningProcess): string[] => /\bservices\/([a-z]+)\//.exec(command)?.slice(1) ?? []
