import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLogger } from '@parley/telemetry'
import { expect, onTestFinished, test } from 'vitest'
import { connectReplica } from './replica.ts'
import { connectReplicas } from './replicas.ts'

const logger = createLogger({ service: 'gateway', level: 'silent' })

// macOS has only one loopback address.
test.skipIf(process.platform === 'darwin')(
  'a name means all its addresses: a new one gets requests, a removed one finishes its open requests',
  async () => {
    const one = await listenAt('127.0.0.1')
    const two = await listenAt('127.0.0.2', one.port)
    let addresses = ['127.0.0.1']
    const replicas = connectReplicas('messaging', [`http://messaging:${one.port}`], logger, {
      lookup: async (host) => (host === 'messaging' ? addresses : []),
      intervalMs: 5,
    })
    onTestFinished(() => replicas.close())
    await replicas.start()
    const ask = async () => {
      const { body } = await replicas.candidates()[0]!.pools.calls.request({ path: '/', method: 'GET' })
      return body.text()
    }
    expect([await ask(), await ask()]).toEqual(['127.0.0.1', '127.0.0.1'])

    addresses = ['127.0.0.1', '127.0.0.2']
    await expect.poll(() => replicas.candidates().length).toBe(2)
    expect([await ask(), await ask()].sort()).toEqual(['127.0.0.1', '127.0.0.2'])

    const [begun] = replicas.candidates()
    const held = begun!.pools.calls.request({ path: '/hold', method: 'GET' })
    const holder = await Promise.race([one.held, two.held])
    addresses = [holder.at === '127.0.0.1' ? '127.0.0.2' : '127.0.0.1']
    await expect.poll(() => replicas.candidates().length).toBe(1)
    expect([await ask(), await ask()]).toEqual([addresses[0], addresses[0]])
    holder.response.end('finished')
    expect(await (await held).body.text()).toBe('finished')
  },
)

test('a failed look-up keeps the known replicas, and a name without an address is not a replica', async () => {
  const one = await listenAt('127.0.0.1')
  let failures = 0
  let fails = false
  const replicas = connectReplicas('auth', [`http://auth:${one.port}`, 'http://nobody:1'], logger, {
    lookup: async (host) => {
      if (host === 'auth' && !fails) return ['127.0.0.1']
      if (host === 'auth') failures++
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    },
    intervalMs: 5,
  })
  onTestFinished(() => replicas.close())
  await replicas.start()
  expect(replicas.candidates()).toHaveLength(1)

  fails = true
  await expect.poll(() => failures).toBeGreaterThan(1)
  expect(replicas.candidates()).toHaveLength(1)
})

test('a gateway that was stopped for a while does not count a replica as silent', async () => {
  const lines: string[] = []
  const log = createLogger({ service: 'gateway', level: 'warn', destination: { write: (line) => lines.push(line) } })
  let checks = 0
  const server = createServer((_request, response) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    checks++
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const replicas = connectReplicas('auth', [`http://127.0.0.1:${port}`], log, {
    healthChecks: { intervalMs: 5, timeoutMs: 100 },
  })
  onTestFinished(() => replicas.close())
  await replicas.start()
  await expect.poll(() => checks).toBeGreaterThan(3)
  expect(lines).toEqual([])
})

test('a draining replica keeps its streams until they end, and gets no new ones', async () => {
  const one = await listenAt('127.0.0.1')
  const replica = connectReplica({ service: 'realtime', origin: `http://127.0.0.1:${one.port}`, logger })
  onTestFinished(() => replica.close())
  const open = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const body: Buffer[] = []
      replica.pools.streams.dispatch(
        { path, method: 'GET' },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData: (_controller, chunk) => void body.push(chunk),
          onResponseEnd: () => resolve(String(Buffer.concat(body))),
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
  expect(await open('/')).toBe('127.0.0.1')

  const held = open('/hold')
  const { response } = await one.held
  const drained = replica.drain()
  await expect(open('/')).rejects.toThrow('The client is closed')
  response.end('finished')
  expect(await held).toBe('finished')
  await drained
})

/** Responds with its own address, except to `/hold`, which stays without a response. */
async function listenAt(host: string, port = 0) {
  const { promise: held, resolve } = Promise.withResolvers<{ at: string; response: ServerResponse }>()
  const server = createServer((request, response) => {
    if (request.url === '/hold') resolve({ at: host, response })
    else response.end(host)
  }).listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, held }
}
