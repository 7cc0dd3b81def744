import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type OtlpReceiver, startOtlpReceiver } from '@parley/telemetry/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../src/launch.ts'

let collector: OtlpReceiver
let address: string
let stop = async () => {}

// The start has the time of a hook: on a busy machine a process needs more seconds than a test has.
beforeAll(async () => {
  collector = await startOtlpReceiver()
  const args = ['--import', '@parley/telemetry/preload', 'deploy/image/start.ts', 'web']
  const web = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      ...collector.env,
      HOST: '127.0.0.1',
      PORT: '0',
      PARLEY_METRICS_PORT: '0',
      PARLEY_AUTH_AUTH_MODE: 'password',
      PARLEY_AUTH_APP_URL: 'http://chat.localhost',
    },
  })
  const ended = once(web, 'exit')
  stop = async () => {
    web.kill()
    await ended
  }
  const output = web.stdout.setEncoding('utf8')
  address = await listeningAddress(output.iterator({ destroyOnReturn: false }))
  output.resume()
})

afterAll(async () => {
  await stop()
  await collector.close()
})

test('a service that the entry point of the image starts sends its traces under its own name', async () => {
  await fetch(address)
  const [span] = await collector.until((spans) => spans.length > 0, { timeoutMs: 20_000 })
  expect(span!.service).toBe('web')
})

/** Reads the log of a service until it says on which address it listens. */
async function listeningAddress(log: AsyncIterable<string>): Promise<string> {
  let output = ''
  for await (const text of log) {
    output += text
    const [, found] = output.match(/"address":"([^"]+)".*"service is listening"/) ?? []
    if (found) return found
  }
  throw new Error(`the service ended before it listened:\n${output}`)
}
