import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectServices } from './call-services.ts'

const request = { service: 'messaging', method: 'GET', path: '/messages/1', token: 'any' } as const

/** The call of a service whose only replica writes these bytes for each request. */
async function callAnsweredBy(answer: (connection: Socket) => void) {
  const replica = createServer((connection) => {
    connection.on('data', () => answer(connection))
  }).listen(0, '127.0.0.1')
  await once(replica, 'listening')
  onTestFinished(() => void replica.close())
  const address = `http://127.0.0.1:${(replica.address() as AddressInfo).port}`
  const upstreams = { directory: [address], messaging: [address] }
  const { call, close } = connectServices({ gateway: { upstreams } }, { timeoutMs: 50 })
  onTestFinished(close)
  return call(request)
}

const ok = 'HTTP/1.1 200 OK\r\n'
const unavailable = { status: 503, code: 'unavailable' }

test('a proxy between the services may answer for one that is unavailable, without JSON', async () => {
  const answer = 'HTTP/1.1 503 Unavailable\r\nContent-Length: 22\r\n\r\nupstream connect error'
  expect(await callAnsweredBy((connection) => connection.write(answer))).toMatchObject({ status: 503, body: {} })
})

describe('a service without a whole answer is unavailable', () => {
  const begun = `${ok}Content-Length: 100\r\n\r\n{"id":`

  test('a body that stops', async () => {
    await expect(callAnsweredBy((connection) => connection.write(begun))).rejects.toMatchObject(unavailable)
  })

  test('a body whose connection is closed', async () => {
    await expect(callAnsweredBy((connection) => connection.end(begun))).rejects.toMatchObject(unavailable)
  })

  test('an answer that is not HTTP', async () => {
    await expect(callAnsweredBy((connection) => connection.end('not HTTP\r\n'))).rejects.toMatchObject(unavailable)
  })

  test('an answer that is not JSON', async () => {
    const page = `${ok}Content-Length: 13\r\n\r\n<html></html>`
    await expect(callAnsweredBy((connection) => connection.write(page))).rejects.toMatchObject(unavailable)
  })
})
