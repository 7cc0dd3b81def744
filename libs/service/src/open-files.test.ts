import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'

test('a low limit of open files is logged at the start; connections beyond it are refused and logged, the others are served', async () => {
  const fixture = join(import.meta.dirname, 'open-files.fixture.ts')
  const child = spawn('sh', ['-c', `ulimit -n 200 && exec "${process.execPath}" "${fixture}"`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: Record<string, unknown>[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line)))
  const lineWith = (field: string) => lines.find((line) => field in line)
  await expect.poll(() => lineWith('port')).toBeDefined()
  expect(lineWith('streams')).toMatchObject({ level: 'warn', openFiles: 200, streams: 75, maxStreams: 50_000 })

  const port = lineWith('port')!.port as number
  const sockets = await Promise.all(
    Array.from({ length: 76 }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      onTestFinished(() => void socket.destroy())
      await once(socket, 'connect')
      return socket
    }),
  )
  await expect
    .poll(() => lineWith('refused'))
    .toMatchObject({ level: 'warn', refused: 1, connections: 75, openFiles: 200 })
  sockets[0]!.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [answer] = await once(sockets[0]!, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
})
