import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, tokensInMemory } from '@parley/client'
import { expect, onTestFinished, test } from 'vitest'
import { createChanges } from '../store/changes.ts'
import { createEventLog } from './event-log.ts'
import { createLists } from './lists.ts'
import { createPeople } from './people.ts'

test('the presence of people can be shown any number of times without more listeners for the end of the engine', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"presence":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const closing = new AbortController()
  onTestFinished(() => {
    closing.abort()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const people = createPeople({
    client: createClient({
      baseUrl: `http://127.0.0.1:${port}`,
      tokens: tokensInMemory({ accessToken: 'any' }),
    }),
    lists: createLists({ scope: 'joined', changes: createChanges(), onRenamed() {} }),
    eventLog: createEventLog(closing.signal),
    closing: closing.signal,
    version: () => 0,
  })
  const listeners = () => getEventListeners(closing.signal, 'abort').length
  people.showPresence(['ann'])()
  const before = listeners()
  for (let n = 0; n < 20; n++) people.showPresence([`person ${n}`])()
  expect(listeners()).toBe(before)
})
