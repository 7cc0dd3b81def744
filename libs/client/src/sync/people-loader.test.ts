import { getEventListeners } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, tokensInMemory } from '@parley/client'
import type { WireEvent } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { createChanges } from '../store/changes.ts'
import { createEventLog } from './event-log.ts'
import { createLists } from './lists.ts'
import { createPeopleLoader } from './people-loader.ts'

/** What `createPeopleLoader` needs, with a server that gives all responses with `respond`. */
async function peopleLoaderOf(respond: RequestListener) {
  const server = createServer(respond)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const closing = new AbortController()
  onTestFinished(() => {
    closing.abort()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const lists = createLists({ scope: 'joined', changes: createChanges(), onRenamed() {} })
  const eventLog = createEventLog(closing.signal)
  const loader = createPeopleLoader({
    client: createClient({
      baseUrl: `http://127.0.0.1:${port}`,
      tokens: tokensInMemory({ accessToken: 'any' }),
    }),
    lists,
    eventLog,
    closing: closing.signal,
    version: () => 0,
  })
  return { loader, lists, eventLog, closing }
}

test('the presence of people can be shown any number of times without more listeners for the end of the engine', async () => {
  const { loader, closing } = await peopleLoaderOf((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"presence":[]}')
  })
  const listeners = () => getEventListeners(closing.signal, 'abort').length
  loader.showPresence(['ann'])()
  const before = listeners()
  for (let n = 0; n < 20; n++) loader.showPresence([`person ${n}`])()
  expect(listeners()).toBe(before)
})

test('the presence of a late response does not replace a newer one', async () => {
  const [first, second] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<ServerResponse>()]
  const waiting = [first, second]
  const { loader, lists } = await peopleLoaderOf((_request, response) => {
    response.setHeader('content-type', 'application/json')
    waiting.shift()!.resolve(response)
  })
  const presence = (shown: Record<string, 'online' | 'away'>) =>
    JSON.stringify({ presence: Object.entries(shown).map(([userId, status]) => ({ userId, status, lastSeen: 0 })) })
  const statusOf = (id: string) => lists.presenceOf(id)?.status
  loader.showPresence(['ann', 'bob'])
  const late = await first.promise
  loader.showPresence(['ann'])
  const newer = await second.promise
  newer.end(presence({ ann: 'online' }))
  await expect.poll(() => statusOf('ann')).toBe('online')
  late.end(presence({ ann: 'away', bob: 'away' }))
  await expect.poll(() => statusOf('bob')).toBe('away')
  expect(statusOf('ann')).toBe('online')
})

const departures: WireEvent[] = [
  { type: 'REMOVE_USER', payload: { id: 'gus', email: 'gus@example.com' } },
  { type: 'USER_EXIT', payload: { id: 'gus', userName: 'gus' } },
]

test.each(departures)('a response does not bring a person back after $type', async (event) => {
  const { loader, lists, eventLog } = await peopleLoaderOf((_request, response) => {
    eventLog.record(event)
    lists.apply(event)
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        users: [
          { id: 'gus', userName: 'gus' },
          { id: 'ann', userName: 'ann' },
        ],
      }),
    )
  })
  await loader.load(['gus', 'ann'])
  expect(lists.users().map(({ id }) => id)).toEqual(['ann'])
})
