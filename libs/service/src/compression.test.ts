import { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { configWithoutServers } from '@parley/test'
import type { InjectOptions } from 'fastify'
import { Type } from 'typebox'
import { beforeAll, describe, expect, test } from 'vitest'
import { type App, buildApp, openDeps } from './index.ts'

const items = Array.from({ length: 200 }, (_, n) => ({ id: `id-${n}`, content: 'the same words' }))
const page = `<p>${'a page of some length '.repeat(100)}</p>`
/** A larger body than the event loop compresses itself. */
const long = Array.from({ length: 20_000 }, (_, n) => n)
const decoders = { zstd: zlib.zstdDecompressSync, br: zlib.brotliDecompressSync, gzip: zlib.gunzipSync }

let fastify: App['fastify']
beforeAll(async () => {
  const { deps, close } = openDeps('test', await configWithoutServers())
  ;({ fastify } = await buildApp({ deps, checks: {}, position: 'inside' }))
  const config = { access: 'none' } as const
  const tokens = Type.Object({ token: Type.String(), items: Type.Array(Type.Any()) })
  fastify.get('/items', { config }, async () => ({ items }))
  fastify.get('/long', { config }, async () => ({ long }))
  fastify.get('/small', { config }, async () => ({ text: 'x'.repeat(900) }))
  fastify.get('/tokens', { config, schema: { response: { 200: tokens } } }, async () => ({ token: 'secret', items }))
  fastify.get(
    '/nested-tokens',
    { config, schema: { response: { 200: Type.Object({ webhook: tokens }) } } },
    async () => ({
      webhook: { token: 'secret', items },
    }),
  )
  fastify.get('/refused', { config }, async () => {
    throw new Error('x'.repeat(5_000))
  })
  fastify.get('/static', { config }, async ({ headers }, reply) => {
    reply.headers({ etag: 'W/"1"', 'accept-ranges': 'bytes', vary: 'Origin', 'cache-control': 'public, max-age=0' })
    if (headers['if-none-match'] === 'W/"1"') return reply.code(304).send()
    reply.type('text/html').header('content-length', page.length)
    return reply.send(Readable.from([Buffer.from(page)]))
  })
  fastify.get('/file', { config }, async (_request, reply) =>
    reply
      .type('text/plain')
      .headers({ etag: '"1"', 'accept-ranges': 'bytes', 'content-length': page.length })
      .send(page),
  )
  fastify.get('/part', { config }, async (_request, reply) => reply.type('text/plain').code(206).send(page))
  fastify.get('/image', { config }, async (_request, reply) => reply.type('image/png').send(Buffer.alloc(5_000)))
  fastify.get('/export', { config }, async (_request, reply) =>
    reply.type('application/json').send(Readable.from([JSON.stringify(items)])),
  )
  return () => fastify.close().then(close)
})

const ask = (url: string, acceptEncoding: string | undefined, options: InjectOptions = {}) =>
  fastify.inject({
    url,
    ...options,
    headers: { ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }), ...options.headers },
  })

describe('a response of more than 1 KB', () => {
  test.each([
    ['zstd', 'gzip, deflate, br, zstd'],
    ['br', 'gzip, deflate, br'],
    ['gzip', 'gzip, deflate'],
    ['gzip', 'br;q=0.1, gzip'],
    ['br', 'zstd;q=0, br'],
    ['zstd', '*'],
    ['br', 'zstd;q=0, *'],
    ['gzip', 'GZIP'],
    ['gzip', 'br;q=0.5, *;q=0.1, gzip;q=0.9'],
  ] as const)('is sent as %s to a client that accepts %s', async (coding, accepted) => {
    for (const url of ['/items', '/long']) {
      const plain = await ask(url, undefined)
      const { headers, rawPayload } = await ask(url, accepted)
      expect(headers).toMatchObject({ 'content-encoding': coding, vary: 'Accept-Encoding' })
      expect(Number(headers['content-length'])).toBe(rawPayload.length)
      expect(rawPayload.length).toBeLessThan(plain.rawPayload.length / 2)
      expect(decoders[coding](rawPayload).toString()).toBe(plain.body)
    }
  })

  test.each([
    [undefined],
    ['identity'],
    ['deflate'],
    ['gzip;q=0'],
    [''],
    ['*;q=0'],
    ['identity, gzip;q=0.5'],
    ['q=;;,'],
  ])('is sent as it is for %j', async (accepted) => {
    const { headers, json } = await ask('/items', accepted)
    expect(headers).toMatchObject({ vary: 'Accept-Encoding' })
    expect(headers).not.toHaveProperty('content-encoding')
    expect(json()).toEqual({ items })
  })

  test('has the same headers for HEAD', async () => {
    const { 'content-length': length, 'content-encoding': coding, vary } = (await ask('/items', 'br')).headers
    const head = await ask('/items', 'br', { method: 'HEAD' })
    expect(head.headers).toMatchObject({ 'content-length': length, 'content-encoding': coding, vary })
    expect(head.rawPayload).toHaveLength(0)
  })
})

test.each(['/small', '/tokens', '/nested-tokens', '/file', '/part', '/image', '/export', '/health'])(
  '%s is not compressed',
  async (url) => {
    const { headers } = await ask(url, 'zstd, br, gzip')
    expect(headers).not.toHaveProperty('content-encoding')
    expect(headers).not.toHaveProperty('vary')
  },
)

test('many large responses at once are all whole', async () => {
  const plain = (await ask('/long', undefined)).body
  const responses = await Promise.all(Array.from({ length: 20 }, () => ask('/long', 'br')))
  for (const { rawPayload } of responses) expect(decoders.br(rawPayload).toString()).toBe(plain)
})

describe('a static file', () => {
  test('is compressed, keeps its weak ETag and offers no ranges then', async () => {
    const { headers, rawPayload } = await ask('/static', 'gzip')
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', etag: 'W/"1"', vary: 'Origin, Accept-Encoding' })
    expect(headers).not.toHaveProperty('accept-ranges')
    expect(decoders.gzip(rawPayload).toString()).toBe(page)
  })

  test('that the client has is a 304 without a body', async () => {
    const { statusCode, headers, rawPayload } = await ask('/static', 'gzip', { headers: { 'if-none-match': 'W/"1"' } })
    expect([statusCode, headers.vary, rawPayload.length]).toEqual([304, 'Origin, Accept-Encoding', 0])
    expect(headers).not.toHaveProperty('content-encoding')
  })

  test('has no length for HEAD when it would be compressed', async () => {
    const { headers } = await ask('/static', 'gzip', { method: 'HEAD' })
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', etag: 'W/"1"', vary: 'Origin, Accept-Encoding' })
    expect(headers['content-length']).not.toBe(String(page.length))
  })
})
