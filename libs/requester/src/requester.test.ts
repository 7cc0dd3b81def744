import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAddressRule } from './addresses.ts'
import { createRequester, type RequesterOptions, RequestFailed } from './index.ts'

/** The tests have no public servers. One address of this machine takes their place, and all others stay forbidden. */
const publicHere = '127.0.0.1'

function requesterWith(options: Partial<RequesterOptions> = {}) {
  const requester = createRequester({ allowedNetworks: [publicHere], ...options })
  onTestFinished(() => requester.close())
  return requester
}

async function listens(server: Server | ReturnType<typeof createTcpServer>, host = publicHere) {
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const serves = async (listener: RequestListener, host = publicHere) =>
  `http://${host}:${await listens(createServer(listener), host)}`

describe('addresses', () => {
  const isAllowed = createAddressRule([])

  test.each(['8.8.8.8', '2606:4700::1111'])('%s is public', (address) => {
    expect(isAllowed(address)).toBe(true)
  })

  test.each([
    ...['127.0.0.1', '0.0.0.0', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['192.0.0.1', '192.0.2.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'fec0::1', 'ff02::1', '2001:db8::1'],
    ...[
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::127.0.0.1',
      // How a URL writes the address before.
      '::7f00:1',
      '64:ff9b::7f00:1',
      '64:ff9b:1::1',
      '2002:7f00:1::',
      '2001::1',
    ],
    // No registry gives these out, but networks in a network use some of them.
    ...['1::1', '200::1', '4000::1', 'e000::1'],
    'no address',
  ])('%s is not', (address) => {
    expect(isAllowed(address)).toBe(false)
  })

  test('only listed networks may be called', () => {
    const inside = createAddressRule(['10.1.0.0/16', '192.168.0.7', 'fd00:1::/32'])
    expect(['10.1.9.9', '192.168.0.7', 'fd00:1::9', '8.8.8.8'].map(inside)).toEqual([true, true, true, true])
    expect(['10.2.0.1', '192.168.0.8', 'fd00:2::9', '::ffff:10.1.9.9'].map(inside)).toEqual([
      false,
      false,
      false,
      false,
    ])
  })
})

describe('a forbidden address', () => {
  test.each([
    'http://2130706434/',
    'http://0x7f000002/',
    'http://0x7f.2/',
    'http://017700000002/',
    'http://127.2/',
    'http://①②⑦.0.0.2/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'http://localhost/',
  ])('%s is not called', async (url) => {
    const requester = requesterWith({
      allowedNetworks: [],
      resolve: (_, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    await expect(requester.request({ url })).rejects.toMatchObject({ reason: 'forbidden' })
  })

  test.each([
    'file:///etc/passwd',
    'gopher://example.org/',
    'http://ann:secret@example.org/',
    'nonsense',
    'http://[fe80::1%25eth0]/',
  ])('%s is no address that is called', async (url) => {
    await expect(requesterWith().request({ url })).rejects.toMatchObject({ reason: 'invalid' })
  })

  test('among several of a name makes the name forbidden', async () => {
    const addresses = [
      { address: '127.0.0.1', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ]
    const requester = requesterWith({ resolve: (_, done) => done(null, addresses) })
    await expect(requester.request({ url: 'http://mixed.example/' })).rejects.toMatchObject({ reason: 'forbidden' })
  })
})

describe('a name', () => {
  test('is resolved once: the addresses of a second look-up are never called', async () => {
    const origin = await serves((_, response) => void response.end('from the public one'))
    const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
    let asked = 0
    const requester = requesterWith({ resolve: (_, done) => done(null, [{ address: answers[asked++]!, family: 4 }]) })
    const url = `http://rebinding.example:${new URL(origin).port}/`

    expect((await requester.request({ url })).body.toString()).toBe('from the public one')
    expect(asked).toBe(1)
  })

  test('that does not exist is reported as such', async () => {
    await expect(requesterWith().request({ url: 'http://nowhere.invalid/' })).rejects.toMatchObject({
      reason: 'unknown',
    })
  })
})

describe('redirects', () => {
  const chain: RequestListener = (request, response) => {
    const left = Number(request.url!.slice(1))
    if (left === 0) response.end('there')
    else response.writeHead(302, { location: `/${left - 1}` }).end()
  }

  test('are followed up to the given number, and then returned unchanged', async () => {
    const origin = await serves(chain)
    const requester = requesterWith()
    const response = await requester.request({ url: `${origin}/3`, redirects: 3 })
    expect([response.body.toString(), response.url]).toEqual(['there', `${origin}/0`])
    await expect(requester.request({ url: `${origin}/4`, redirects: 3 })).rejects.toMatchObject({
      reason: 'redirected',
    })
    expect((await requester.request({ url: `${origin}/1` })).status).toBe(302)
  })

  test('to a forbidden address are not followed', async () => {
    let visits = 0
    const inside = await serves((_, response) => {
      visits++
      response.end('the secrets of this machine')
    }, '127.0.0.2')
    const origin = await serves((_, response) => void response.writeHead(302, { location: inside }).end())
    const redirected = requesterWith().request({ url: origin, redirects: 3 })
    await expect(redirected).rejects.toMatchObject({ reason: 'forbidden' })
    expect(visits).toBe(0)
  })
})

describe('a response', () => {
  test('is read with its status, headers and body, and the request is sent as it was given', async () => {
    const origin = await serves(async (request, response) => {
      const body = await text(request)
      response.writeHead(418, { 'x-seen': `${request.method} ${request.headers['x-given']} ${body}` }).end('no')
    })
    const response = await requesterWith().request({
      url: origin,
      method: 'POST',
      headers: { 'x-given': 'a' },
      body: 'b',
    })
    expect(response).toMatchObject({ status: 418, isCut: false, headers: { 'x-seen': 'POST a b' } })
    expect(response.body.toString()).toBe('no')
  })

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('in %s is decoded, and a bomb is cut', async (coding, encode) => {
    const large = Buffer.from('a'.repeat(5_000_000))
    const origin = await serves((request, response) => {
      response.setHeader('content-encoding', coding)
      response.end(encode(request.url === '/bomb' ? large : Buffer.from('small')))
    })
    const requester = requesterWith()
    expect((await requester.request({ url: origin })).body.toString()).toBe('small')
    const bomb = await requester.request({ url: `${origin}/bomb`, maxBytes: 10_000 })
    expect([bomb.body.length, bomb.isCut]).toEqual([10_000, true])
  })

  test('without an end is cut', async () => {
    let hasLeft = () => {}
    const left = new Promise<void>((resolve) => {
      hasLeft = resolve
    })
    const origin = await serves((_, response) => {
      response.on('close', hasLeft)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
      }
      response.on('drain', more)
      more()
    })
    const response = await requesterWith().request({ url: origin, maxBytes: 100_000 })
    expect([response.body.length, response.isCut]).toEqual([100_000, true])
    await left
  })

  test.each([
    ['that never comes', () => {}],
    [
      'of which a byte comes now and then',
      (socket: Socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const timer = setInterval(() => socket.write('.'), 20)
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ])('%s is given up', async (_, answer) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      answer(socket)
    })
    const port = await listens(server)
    const url = `http://${publicHere}:${port}/`
    await expect(requesterWith().request({ url, timeoutMs: 300 })).rejects.toMatchObject({ reason: 'slow' })
  })

  test.each<[string, RequestListener]>([
    ['has no end', (_, response) => response.writeHead(200).write('.')],
    ['breaks off', (_, response) => response.writeHead(200).write('.', () => response.destroy())],
    ['cannot be decoded', (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip')],
  ])('whose body %s is a failure, except when the body is optional', async (_, listener) => {
    const request = { url: await serves(listener), timeoutMs: 300 }
    await expect(requesterWith().request(request)).rejects.toThrow(RequestFailed)
    expect(await requesterWith().request({ ...request, isBodyOptional: true })).toMatchObject({ status: 200 })
  })

  test('of a server that hangs up, or sends no HTTP, is a failure', async () => {
    const port = await listens(createTcpServer((socket) => void socket.on('error', () => {}).end('nonsense\r\n\r\n')))
    const url = `http://${publicHere}:${port}/`
    await expect(requesterWith().request({ url })).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

test('a request ends at once when its signal does, also while the name is being resolved', async () => {
  const resolving = Promise.withResolvers<void>()
  const requester = requesterWith({ resolve: () => resolving.resolve() })
  const stopping = new AbortController()
  const ended = requester.request({ url: 'http://slow.example/', signal: stopping.signal }).catch((error) => error)
  await resolving.promise
  const reason = new Error('this process stops')
  stopping.abort(reason)
  const nextTurn = new Promise((resolve) => setImmediate(resolve, 'it goes on'))
  expect(await Promise.race([ended, nextTurn])).toBe(reason)
})
