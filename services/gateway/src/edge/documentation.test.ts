import { describe, expect, test } from 'vitest'
import { startGateway, startUpstream } from '../gateway.testing.ts'
import { routedServices } from '../routing-table.ts'

describe('documentation', () => {
  test('the descriptions of all services are merged into one document', async () => {
    const described = await Promise.all(
      routedServices.map((name) =>
        startUpstream((_request, response) =>
          response.end(JSON.stringify({ openapi: '3.1.0', paths: { [`/${name}`]: { get: {} } } })),
        ),
      ),
    )
    const { url } = await startGateway(Object.fromEntries(routedServices.map((name, n) => [name, [described[n]!.url]])))
    const expected = routedServices.map((name) => `/${name}`)

    for (const path of ['/openapi.json', '/docs/json']) {
      const document = (await (await fetch(url + path)).json()) as { openapi: string; paths: object }
      expect([document.openapi, Object.keys(document.paths)]).toEqual(['3.1.0', expect.arrayContaining(expected)])
    }
  })

  test('while a service is unavailable the document is 503', async () => {
    const { url } = await startGateway({})
    expect((await fetch(`${url}/openapi.json`)).status).toBe(503)
  })

  test('the page and its files come from the gateway, under a policy of their own', async () => {
    const { url } = await startGateway({})
    const page = await fetch(url)
    expect(page.url).toBe(`${url}/docs`)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")

    const sources = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source!)
    expect(sources.length).toBeGreaterThan(3)
    for (const source of sources) {
      const address = new URL(source, `${url}/`)
      const response = await fetch(address)
      await response.arrayBuffer()
      expect([address.origin, response.status]).toEqual([url, 200])
    }
  })
})
