import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Supervised, supervise } from './supervisor.ts'

/** Listens when the file exists, and ends at once otherwise. */
const program = `
  if (!require('node:fs').existsSync(process.env.FILE)) process.exit(1)
  process.send('listening')
  setInterval(() => {}, 60_000)`

test('the end of a process is reported, also after a replacement that was requested between two runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-supervisor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'listen')
  const lines = new EventEmitter()
  const plan = { name: 'auth-1', replica: 1, stage: 'service' as const, address: '' }
  const supervised: Supervised = supervise({ ...plan, args: ['-e', program], env: { FILE: file } }, (line) => {
    lines.emit(line.includes('has ended') ? 'ended' : 'running', line)
  })
  onTestFinished(supervised.stop)

  // After the second end the supervisor waits before it starts the process again.
  await once(lines, 'ended')
  await once(lines, 'ended')
  writeFileSync(file, '')
  const restarted = once(lines, 'running')
  await supervised.replace()
  const [line] = await restarted
  const pid = Number(/pid (\d+)/.exec(line)![1])

  const ended = once(lines, 'ended')
  process.kill(pid, 'SIGKILL')
  expect(await ended).toEqual([`auth-1 (pid ${pid}) has ended (SIGKILL), starting it again`])
})
