import type { Person } from '@parley/test'
import { describedRoutes, filled, type Known, type Route, validBody } from '../hostile/routes.ts'
import { type Demand, table } from './table.ts'

export interface GuardedRoute extends Route {
  demand: Demand | undefined
}

/** Every described route, including the event stream, with its row of the table. */
export async function guardedRoutes(anybody: Person): Promise<GuardedRoute[]> {
  const { paths } = (await anybody.get('/openapi.json')).body
  const nothing = { pathParameters: [], query: {}, requiredQuery: {}, body: undefined, isBinary: false, statuses: [] }
  const stream = { name: 'GET /events', method: 'GET', path: '/events', ...nothing }
  const streams = paths['/events'] ? [{ ...stream, access: paths['/events'].get['x-access'] as string }] : []
  return [...(await describedRoutes(anybody)), ...streams].map((route) => ({ ...route, demand: table[route.name] }))
}

export interface Answer {
  status: number
  /** The sentence of a refusal. */
  error: unknown
  headers: Headers
}

/** Sends a request that is valid except perhaps for its token, and reads only the necessary part of the response. */
export async function requestRoute(
  baseUrl: string,
  route: Route,
  token: string | undefined,
  known: Known,
  more: Record<string, string> = {},
): Promise<Answer> {
  const send = () =>
    fetch(baseUrl + filled(route.path, known), {
      method: route.method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(route.body && { 'content-type': 'application/json' }),
        ...more,
      },
      body: route.body ? JSON.stringify(validBody(route.body, known)) : null,
      redirect: 'manual',
    })
  let response = await send()
  // On a busy machine no worker may begin the export in time. The next request waits for the same export.
  while (route.name === 'GET /admin/export' && response.status === 503) response = await send()
  const { status, headers } = response
  if (response.ok) {
    await response.body?.cancel()
    return { status, headers, error: undefined }
  }
  const text = await response.text()
  return { status, headers, error: text.startsWith('{') ? JSON.parse(text).error : text }
}
