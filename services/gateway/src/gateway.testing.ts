import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Config, DeepPartial } from '@parley/config'
import { carryConnections, protocol } from '@parley/multiplex'
import { buildApp, openDeps } from '@parley/service'
import { createLogger } from '@parley/telemetry'
import { configWithoutServers } from '@parley/test'
import { request } from 'undici'
import { expect, onTestFinished } from 'vitest'
import type { ReplicasOptions } from './proxy/replicas.ts'
import { type RoutedService, routedServices } from './routing-table.ts'
import { clusterGateway } from './service.ts'

/**
 * A gateway in front of services that a test creates. They can hang, refuse, break off and send invalid responses. The
 * server of the test environment of `@parley/test`, which is one process, cannot.
 */

/** An address where nothing answers: port 1 is privileged and unused. */
export const nowhere = 'http://127.0.0.1:1'

/** The body of a response of the gateway that says no. */
export const refusal = { error: expect.any(String), requestId: expect.any(String) }

/** The status of the response to GET. `fetch` would set its own Host header. */
export async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await request(url, { headers })
  await body.dump()
  return statusCode
}

interface UpstreamRequest {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

/**
 * A service for a test. It responds with 200 and the requested URL, unless `answer` is given. With `carries: false` each open request has its
 * own connection, as in earlier versions.
 */
export async function startUpstream(answer?: RequestListener, { carries = true } = {}) {
  const seen: UpstreamRequest[] = []
  const echo: RequestListener = (request, response) => {
    const { method = '', url = '', headers } = request
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ url }))
    })
  }
  let isFrozen = false
  const isCarrier = ({ headers }: IncomingMessage) => headers.upgrade === protocol
  const server = createServer(
    { shouldUpgradeCallback: (request) => carries && isCarrier(request) },
    (request, response) => {
      if (isFrozen) return
      // An earlier version knows no such address.
      if (isCarrier(request)) return response.writeHead(404).end()
      if (request.url === '/health/live') response.end('{}')
      else (answer ?? echo)(request, response)
    },
  )
  const carried = new Set<Socket>()
  server.on('upgrade', (_request, socket: Socket) => {
    carried.add(socket)
    if (isFrozen) return
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
    carryConnections(socket, (connection) => server.emit('connection', connection))
  })
  const url = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    for (const socket of carried) socket.destroy()
  })
  /** Makes the service accept connections and requests without a response, until `freeze(false)`. */
  const freeze = (value = true) => {
    isFrozen = value
  }
  return { url, seen, server, freeze }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * Starts the gateway of a cluster on a free port. A service of the API that is not named has an address on which nothing listens. The web
 * client is there only when it is named.
 */
export async function startGateway(
  { web = [], ...upstreams }: Partial<Record<RoutedService, string[]>>,
  settings: DeepPartial<Config> = {},
  replicas?: ReplicasOptions,
) {
  const config = await configWithoutServers({
    rateLimit: { enabled: false },
    gateway: {
      upstreams: { ...Object.fromEntries(routedServices.map((name) => [name, upstreams[name] ?? [nowhere]])), web },
    },
    ...settings,
  })
  const { deps: opened, close } = openDeps('gateway', config)
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const deps = { ...opened, logger: createLogger({ service: 'gateway', level: 'trace', destination }) }
  const service = clusterGateway(deps, replicas)
  const { fastify, drain } = await buildApp({
    deps,
    position: 'edge',
    checks: service.checks ?? {},
    edge: service.edge,
    recordsEvents: false,
  })
  await fastify.register(service.plugin!)
  await service.start?.()
  const url = await fastify.listen({ host: '127.0.0.1', port: 0 })
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= fastify
      .close()
      .then(() => service.stop?.())
      .then(close)
    return stopped
  }
  onTestFinished(stop)
  const token = await deps.tokens.issueAccess({ userId: 'ann', sessionId: 'session', seconds: 60 })
  return {
    url,
    deps,
    drain,
    stop,
    logged: () => lines.map((line) => JSON.parse(line)),
    token,
    authorized: { authorization: `Bearer ${token}` },
  }
}
