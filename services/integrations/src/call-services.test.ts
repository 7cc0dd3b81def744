import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { connectServices } from './call-services.ts'

test('a proxy between the services may answer for one that is unavailable, without JSON', async () => {
  const proxy = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'text/plain' }).end('upstream connect error')
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const upstreams = { directory: [address], messaging: [address] }
  const { call, close } = connectServices({ gateway: { upstreams } })
  onTestFinished(close)
  const answer = await call({ service: 'messaging', method: 'GET', path: '/messages/1', token: 'any' })
  expect(answer).toMatchObject({ status: 503, body: {} })
})
