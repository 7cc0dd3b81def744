import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Metrics } from './metrics.ts'

interface MetricsServerOptions {
  metrics: Metrics
  host: string
  /** 0 picks a free port. */
  port: number
}

/** Serves `GET /metrics` on its own port, which must not be public. @throws the system's error when the address is taken. */
export async function serveMetrics({
  metrics,
  host,
  port,
}: MetricsServerOptions): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') return response.writeHead(404).end()
    if (request.method !== 'GET') return response.writeHead(405, { allow: 'GET' }).end()

    try {
      const text = await metrics.text()
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
    } catch {
      response.writeHead(503).end()
    }
  })
  server.listen({ host, port })
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
