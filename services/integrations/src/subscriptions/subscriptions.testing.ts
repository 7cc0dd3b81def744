import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, expect, onTestFinished, vi } from 'vitest'

/** An event that a receiver got. */
export interface Taken {
  id: string
  type: string
  payload: { id: string; content?: string; seq: number }
  headers: Record<string, string>
  body: string
}

/** A receiver that accepts all requests, or responds as `answer` does. */
export async function receives(
  answer: (response: ServerResponse, taken: Taken) => void = (response) => void response.end(),
) {
  const taken: Taken[] = []
  const control = { answer }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const event = { ...JSON.parse(body), headers: request.headers, body } as Taken
    taken.push(event)
    control.answer(response, event)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const contents = () => taken.map(({ payload }) => payload.content)
  return { taken, contents, control, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

export const eventually = (assertion: () => void | Promise<void>) =>
  vi.waitFor(assertion, { timeout: 30_000, interval: 50 })

/** A server with a bot that subscribes. */
export function subscriptionEnvironment() {
  /** The only address that may be called. The receivers of the tests listen there. */
  const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
  let bot: Person
  beforeAll(async () => {
    bot = await Person.signIn(environment.baseUrl, 'bot@example.com')
    await environment.deps.db.updateTable('users').set({ isBot: true }).where('id', '=', bot.id).execute()
  })

  async function subscribes(url: string, wish: object = {}, by: Person = bot) {
    const { status, body } = await by.post('/subscriptions', { url, events: ['NEW_MESSAGE'], ...wish })
    expect([status, body.error]).toEqual([200, undefined])
    const { subscription } = body
    onTestFinished(async () => void (await bot.delete(`/subscriptions/${subscription.id}`)))
    return subscription as { id: string; secret: string; cursor: string }
  }

  /** Ann says these messages in the open channel. */
  async function saysInOrder(...contents: string[]) {
    const channel = environment.channel.open
    for (const content of contents) await environment.people.ann.says(content, channel)
  }

  const lease = () =>
    environment.deps.db.selectFrom('deliveryLease').select(['holder', 'expiresAt']).executeTakeFirstOrThrow()

  /** The deliverer looks for changes directly after it has renewed its lease, so it has looked after two renewals. */
  async function looksForChanges() {
    for (let renewals = 0; renewals < 2; renewals++) {
      const { expiresAt } = await lease()
      await eventually(async () => expect((await lease()).expiresAt).toBeGreaterThan(expiresAt))
    }
  }

  return {
    environment,
    get bot() {
      return bot
    },
    subscribes,
    saysInOrder,
    lease,
    looksForChanges,
  }
}
