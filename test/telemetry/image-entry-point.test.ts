import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '@parley/embedded'
import { startOtlpReceiver } from '@parley/telemetry/testing'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../src/launch.ts'

test('a service that the entry point of the image starts sends its traces under its own name', async () => {
  const collector = await startOtlpReceiver()
  onTestFinished(() => collector.close())
  const port = await freePort()
  const args = ['--import', '@parley/telemetry/preload', 'deploy/image/start.ts', 'web']
  const web = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      ...collector.env,
      HOST: '127.0.0.1',
      PORT: String(port),
      PARLEY_METRICS_PORT: '0',
      PARLEY_AUTH_AUTH_MODE: 'password',
      PARLEY_AUTH_APP_URL: 'http://chat.localhost',
    },
  })
  const ended = once(web, 'exit')
  onTestFinished(async () => {
    web.kill()
    await ended
  })
  let output = ''
  for await (const text of web.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text
    if (output.includes('service is listening')) break
  }
  web.stdout.resume()

  await fetch(`http://127.0.0.1:${port}/`)
  const [span] = await collector.until((spans) => spans.length > 0, { timeoutMs: 30_000 })
  expect(span!.service).toBe('web')
})
