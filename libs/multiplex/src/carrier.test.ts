import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { type Carrier, carryConnections } from './carrier.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Both sides of a carrier over a loopback connection. `onConnection` gets each connection that the client opens. */
async function openCarrier(onConnection: (connection: Duplex) => void) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [other] = await accepted
  const there = carryConnections(other, onConnection)
  const here = carryConnections(socket)
  const open = here.open
  // Connections that are still open at the end of a test fail, which is no failure of the test.
  here.open = () => open().on('error', () => {})
  let writes = 0
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  socket.write = ((...args: unknown[]) => {
    writes++
    return write(...args)
  }) as typeof socket.write
  ends.push(() => {
    socket.destroy()
    other.destroy()
    server.close()
  })
  return { here, there, socket, other, writes: () => writes }
}

const echo = (connection: Duplex) => void connection.pipe(connection)

async function echoed(carrier: Carrier, sent: string): Promise<string> {
  const connection = carrier.open()
  connection.end(sent)
  return text(connection)
}

describe('a carrier', () => {
  it('carries many connections, each with its own bytes', async () => {
    const { here } = await openCarrier(echo)
    const sent = Array.from({ length: 200 }, (_, n) => `connection ${n} `.repeat(n))
    expect(await Promise.all(sent.map((each) => echoed(here, each)))).toEqual(sent)
  })

  it('sends everything that is written within one turn of the event loop in one write', async () => {
    const { here, writes } = await openCarrier(echo)
    const connections = Array.from({ length: 20 }, () => here.open())
    for (const connection of connections) connection.write('a request')
    await Promise.all(connections.map((connection) => once(connection, 'data')))
    expect(writes()).toBe(1)
  })

  it('carries more bytes than fit into one frame, and a short response at the same time', async () => {
    const { here } = await openCarrier(echo)
    const long = here.open()
    const bytes = Buffer.alloc(3_000_000, 'parley')
    const whole = buffer(long)
    long.end(bytes)
    expect(await echoed(here, 'short')).toBe('short')
    expect((await whole).equals(bytes)).toBe(true)
  })

  it('closes one connection and leaves the others open', async () => {
    const accepted: Duplex[] = []
    const { here } = await openCarrier((connection) => {
      accepted.push(connection)
      connection.on('error', () => {})
      echo(connection)
    })
    const [left, stays] = [here.open(), here.open()]
    left.write('1')
    stays.write('2')
    await Promise.all([once(left, 'data'), once(stays, 'data')])
    left.destroy()
    await once(accepted[0]!, 'close')
    stays.write('3')
    const [data] = (await once(stays, 'data')) as [Buffer]
    expect(data.toString()).toBe('3')
  })

  it('delivers the bytes that the other side sent before it closed the connection', async () => {
    const { here } = await openCarrier((connection) => {
      connection.once('data', () => {
        connection.end('the last words')
        connection.once('finish', () => connection.destroy())
      })
    })
    expect(await echoed(here, 'hello')).toBe('the last words')
  })

  it('breaks all its connections when it is closed', async () => {
    const { here, other } = await openCarrier(echo)
    const connections = Array.from({ length: 3 }, () => here.open())
    const failures = connections.map((connection) => once(connection, 'error'))
    for (const connection of connections) connection.write('a request')
    await Promise.all(connections.map((connection) => once(connection, 'data')))
    other.destroy()
    const errors = await Promise.all(failures)
    expect(errors.map(([error]) => (error as Error).message)).toEqual(
      Array.from({ length: 3 }, () => 'The carrier of this connection was closed'),
    )
    expect(here.canOpen).toBe(false)
  })

  it('that refuses new connections carries its open ones to their end', async () => {
    const { here, there, socket } = await openCarrier(echo)
    const connection = here.open()
    connection.write('first')
    await once(connection, 'data')
    there.refuseNew()
    await expect.poll(() => here.canOpen).toBe(false)
    connection.write('second')
    const [data] = (await once(connection, 'data')) as [Buffer]
    expect(data.toString()).toBe('second')
    const closed = once(socket, 'close')
    connection.end()
    await closed
    expect(socket.errored).toBe(null)
  })

  it('closes when it receives bytes that are not a frame', async () => {
    const { other, socket } = await openCarrier(echo)
    const failed = once(other, 'error') as Promise<[Error]>
    socket.write(Buffer.from([0, 0, 0, 1, 9, 0, 0, 0]))
    const [error] = await failed
    expect(error.message).toBe('The received bytes are not a frame of a carrier')
  })

  it('carries HTTP', async () => {
    const server = http.createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => response.end(`${request.url} got ${Buffer.concat(chunks).length}`))
    })
    const { here } = await openCarrier((connection) => void server.emit('connection', connection))
    const ask = (path: string, body: string) =>
      new Promise<string>((resolve, reject) => {
        const request = http.request({ path, method: 'POST', createConnection: () => here.open() as Socket })
        request.on('response', (response) => resolve(text(response)))
        request.on('error', reject)
        request.end(body)
      })
    const responses = await Promise.all([ask('/a', 'x'.repeat(10)), ask('/b', 'x'.repeat(200_000))])
    expect(responses).toEqual(['/a got 10', '/b got 200000'])
    server.close()
  })
})
