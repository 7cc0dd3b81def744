import { openDeps } from '@parley/service'
import { configWithoutServers } from '@parley/test'
import type { HTTPMethods } from 'fastify'
import { describe, expect, test } from 'vitest'
import { composeSolo } from './compose.ts'

interface Operation {
  parameters?: { name: string; in: string; required: boolean }[]
  requestBody?: { required: boolean; content: Record<string, { schema: { properties?: Record<string, unknown> } }> }
  responses: Record<string, object>
  'x-access': string
}

// `test/src/test-environment.ts` and `test/hostile` compare all responses of their tests with this description.
describe('the OpenAPI description', async () => {
  const { fastify, paths } = await described()
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })),
  )

  test.each([
    'GET /',
    'GET /docs',
    'HEAD /docs',
    'GET /openapi.json',
    'HEAD /openapi.json',
    'GET /health',
    'HEAD /health',
    'GET /health/live',
    'GET /health/ready',
    'GET /events',
    'HEAD /files/{filename}',
  ])('lists %s', (operation) => {
    const [method, path] = operation.split(' ') as [string, string]
    expect(paths[path]).toHaveProperty(method.toLowerCase())
  })

  test('lists HEAD for every GET, and no route that does not exist', () => {
    for (const [path, item] of Object.entries(paths)) expect([path, 'get' in item]).toEqual([path, 'head' in item])
    const absent = operations.filter(
      ({ path, method }) =>
        method !== 'head' &&
        !fastify.hasRoute({
          url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
          method: method.toUpperCase() as HTTPMethods,
        }),
    )
    expect(absent).toEqual([])
  })

  test('declares for every route the responses that may come before its handler runs', () => {
    for (const { path, method, responses, 'x-access': access } of operations) {
      const isRead = method === 'get' || method === 'head'
      const isHealth = path.startsWith('/health')
      const expected = [
        '400',
        '403',
        '500',
        ...(access === 'none' ? [] : ['401']),
        ...(isRead ? [] : ['413']),
        ...(isHealth ? [] : ['429', '503']),
      ]
      expect([method, path, Object.keys(responses)]).toEqual([method, path, expect.arrayContaining(expected)])
    }
  })

  test('requires neither parameters with a default nor bodies without required fields', () => {
    expect(paths['/channels/{channelId}/messages']!.get!.parameters).toContainEqual(
      expect.objectContaining({ name: 'limit', in: 'query', required: false }),
    )
    expect(paths['/auth/logout']!.post!.requestBody!.required).toBe(false)
    expect(paths['/channels']!.post!.requestBody!.required).toBe(true)
  })

  test('declares null for the fields that may be left out', () => {
    const { properties } = paths['/users/add']!.post!.requestBody!.content['application/json']!.schema
    expect(properties).toMatchObject({
      email: { type: 'string' },
      role: { type: ['string', 'null'], enum: ['admin', 'member', 'guest', 'user', null] },
      password: { type: ['string', 'null'] },
    })
  })
})

async function described() {
  const { deps, close } = openDeps('described', await configWithoutServers({ rateLimit: { enabled: false } }))
  const { fastify } = await composeSolo(deps)
  const { paths } = (await fastify.inject('/openapi.json')).json() as {
    paths: Record<string, Record<string, Operation>>
  }
  await close()
  return { fastify, paths }
}
