import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { admin } from '@parley/admin'
import { auth } from '@parley/auth'
import { directory } from '@parley/directory'
import { clusterGateway, routedServices, routingTable } from '@parley/gateway'
import { integrations } from '@parley/integrations'
import { messaging } from '@parley/messaging'
import { realtime } from '@parley/realtime'
import { apiAddresses, buildApp, type Deps, openDeps, pageAddresses, type Service } from '@parley/service'
import { configWithoutServers } from '@parley/test'
import type { FastifyPluginAsync } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { describedOperations } from './client-routes.ts'

type ApiService = (typeof routedServices)[number]

const create: Record<ApiService, (deps: Deps) => Service | FastifyPluginAsync> = {
  auth,
  directory,
  messaging,
  admin,
  integrations,
  realtime,
}

test('the gateway forwards every route of every service to that service, and refuses callers whom the service would refuse', async () => {
  const upstreams = await Promise.all(routedServices.map(startEcho))
  const { deps, close } = openDeps('routing', await configuration(upstreams))
  onTestFinished(close)
  const edge = clusterGateway(deps)
  const { fastify: gateway } = await buildApp({ deps, position: 'edge', checks: {}, edge: edge.edge })
  await gateway.register(edge.plugin!)
  onTestFinished(async () => {
    await gateway.close()
    await edge.stop?.()
  })
  const address = await gateway.listen({ port: 0 })

  const routes = (await Promise.all(routedServices.map((name) => routesOf(name, deps)))).flat()
  expect(routes.length).toBeGreaterThan(20)
  const answers = await Promise.all(
    routes.map(async ({ method, path }) => {
      const response = await fetch(address + path, { method })
      return { method, path, answer: response.status === 200 ? await response.text() : response.status }
    }),
  )
  const expected = routes.map(({ method, path, service, access }) => ({
    method,
    path,
    answer: access === 'none' && service !== 'realtime' ? service : 401,
  }))
  expect(answers).toEqual(expected)

  const token = await deps.tokens.issueAccess({ userId: 'ann', sessionId: 'session', seconds: 60 })
  for (const { method, path, service } of routes) {
    const response = await fetch(address + path, { method, headers: { authorization: `Bearer ${token}` } })
    expect([method, path, await response.text()]).toEqual([method, path, service])
    if (method !== 'GET') continue
    const head = await fetch(address + path, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } })
    expect(['HEAD', path, head.status]).toEqual(['HEAD', path, 200])
  }
})

test('the gateway may repeat each POST that takes a key, except uploads', { timeout: 120_000 }, async () => {
  const taking = (await describedOperations())
    .filter(([, { parameters = [] }]) => parameters.some(({ name }) => name === 'idempotency-key'))
    .map(([name]) => name.replace('POST ', ''))
  const uploads = routingTable.filter(({ transfer }) => transfer === 'upload').map(({ path }) => path)
  const keyed = routingTable.filter((row) => row.keyed).map(({ path }) => path)
  expect(keyed.toSorted()).toEqual(taking.filter((path) => !uploads.includes(path)).toSorted())
})

test('every address of the API is known as one, so that a browser gets no page below it', () => {
  const isPage = (path: string) => pageAddresses.some((address) => address === path)
  const ofApi = routingTable.filter(({ service, path }) => service !== 'web' && !isPage(path))
  const isListed = (path: string) => apiAddresses.some((address) => `${path}/`.startsWith(`${address}/`))
  expect(ofApi.map(({ path }) => path).filter((path) => !isListed(path))).toEqual([])
})

/** The routes of a service, from its OpenAPI description. */
async function routesOf(service: ApiService, deps: Deps) {
  const { fastify } = await buildApp({ deps, position: 'inside', checks: {} })
  const created = create[service](deps)
  await fastify.register(typeof created === 'function' ? created : created.plugin!)
  const document = (await fastify.inject('/openapi.json')).json() as {
    paths: Record<string, Record<string, { 'x-access': string }>>
  }
  onTestFinished(() => fastify.close())
  return Object.entries(document.paths)
    .filter(([path]) => !isOfEveryProcess(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        // The response to HEAD has no body, so it does not show which service responded.
        .filter(([method]) => method !== 'head')
        .map(([method, { 'x-access': access }]) => ({
          service,
          access,
          method: method.toUpperCase(),
          path: path.replaceAll(/\{\w+\}/g, 'some-id'),
        })),
    )
}

/** Every process serves these paths, so the gateway responds itself. */
const isOfEveryProcess = (path: string) => path === '/openapi.json' || path.startsWith('/health')

async function startEcho(name: string): Promise<string> {
  const server = createServer((_request, response) => void response.end(name)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const configuration = (upstreams: string[]) =>
  configWithoutServers({
    rateLimit: { enabled: false },
    gateway: { upstreams: Object.fromEntries(routedServices.map((name, index) => [name, [upstreams[index]!]])) },
  })
