import { randomUUID } from 'node:crypto'
import { Person, samples } from '@parley/test'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'
import { type Installation, launch, type Topology } from '../src/launch.ts'
import { type Exchange, exchange } from './exchange.ts'
import { describedRoutes, idsFor, isSlack, type Known, type Route, validPath } from './routes.ts'

interface Sent {
  /** The path; by default that of the route with existing ids. */
  path?: string
  body?: unknown
  headers?: object
}

/** An installation, its routes, and one example of everything that routes need. */
export interface TargetServer {
  readonly installation: Installation
  readonly baseUrl: string
  readonly routes: Route[]
  readonly withBody: Route[]
  readonly withParameters: Route[]
  readonly known: Known
  readonly adminToken: string
  send(route: Route, sent: Sent): Promise<Exchange>
  /** Runs `work` for all routes, or the chosen ones, a few at a time. */
  all(work: (route: Route) => Promise<unknown>, chosen?: Route[]): Promise<void>
}

export function targetServer(topology: Topology): TargetServer {
  let installation: Installation
  let routes: Route[]
  let known: Known
  let adminToken: string

  beforeAll(async () => {
    installation = await launch(topology)
    const described = await describedRoutes(Person.nobody(installation.baseUrl))
    routes = described.filter(({ path }) => !isSlack(path))
    adminToken = await signIn('admin')
    expect(routes.length).toBeGreaterThan(20)
  })
  afterAll(() => installation?.discard())

  beforeEach(async () => {
    known = await somethingOfEverything(installation.baseUrl)
  })
  afterEach(async () => {
    expect(await exchange(installation.baseUrl, { method: 'GET', path: '/health' })).toEqual({
      status: 200,
      text: 'OK',
    })
    const headers = { authorization: `Bearer ${adminToken}` }
    expect((await exchange(installation.baseUrl, { method: 'GET', path: '/auth/me', headers })).status).toBe(200)
  })

  const signIn = async (name: string) => (await Person.signIn(installation.baseUrl, `${name}@example.com`)).token!

  /** Tokens of people who have no other role in the test, because their sessions may end. */
  const expendable: string[] = []

  /**
   * An admin's token, so that no request is refused because of missing rights. A request that may end the session gets
   * an expendable token.
   */
  async function tokenFor({ path }: Route): Promise<string> {
    if (path === '/webhooks/{webhookId}/messages') return known.webhookToken!
    return mayEndSession(path) ? (expendable.pop() ?? (await signIn(randomUUID()))) : adminToken
  }

  return {
    get installation() {
      return installation
    },
    get baseUrl() {
      return installation.baseUrl
    },
    get routes() {
      return routes
    },
    get withBody() {
      return routes.filter(({ body }) => body !== undefined)
    },
    get withParameters() {
      return routes.filter(({ pathParameters }) => pathParameters.length > 0)
    },
    get known() {
      return known
    },
    get adminToken() {
      return adminToken
    },
    async send(
      route,
      { path = validPath(route, idsFor(route, known)), body, headers = { 'content-type': 'application/json' } },
    ) {
      const token = await tokenFor(route)
      const answer = await exchange(installation.baseUrl, {
        method: route.method,
        path,
        headers: { authorization: `Bearer ${token}`, ...headers },
        body: body === undefined || typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body),
      })
      // Every additional person makes the listings longer. A request that was refused because of its content has not
      // ended the session.
      if (mayEndSession(route.path) && answer.status !== 401 && (answer.status >= 400 || route.method === 'GET')) {
        expendable.push(token)
      }
      expect(route.statuses, `${route.name} answers a status that OpenAPI does not declare`).toContain(answer.status)
      return answer
    },
    async all(work, chosen = routes) {
      await inSmallGroups(chosen, work)
    },
  }
}

const mayEndSession = (path: string) => path === '/users/exit' || path.startsWith('/auth/')

/**
 * Creates one of each resource that routes have in their paths and bodies, because the previous test may have deleted
 * the old ones.
 */
export async function somethingOfEverything(baseUrl: string): Promise<Known> {
  const admin = await Person.signIn(baseUrl, 'admin@example.com')
  const bob = await Person.signIn(baseUrl, `${randomUUID()}@example.com`)
  const channel = await admin.creates({ name: `a place ${randomUUID()}` })
  const [message, quoted] = [await admin.says('a word', channel), await admin.says('another', channel)]
  const { reply } = (await admin.post(`/messages/${message.id}/thread`, { content: 'a reply' })).body
  const { conversation } = (await admin.post('/conversations', { targetUserId: bob.id })).body
  const { webhook } = (await admin.post('/webhooks', { name: 'a bot', channelId: channel.id })).body
  const exported = (await admin.post('/admin/exports')).body
  const { group } = (await admin.post('/groups', { handle: `team-${randomUUID()}`, name: 'a team' })).body
  const { bot } = (await admin.post('/bots', { userName: `robot ${randomUUID()}` })).body
  const botToken = (await admin.post(`/bots/${bot.id}/tokens`, { name: 'a token', scopes: ['read'] })).body
  const url = 'https://receiver.example/'
  const name = `do-${randomUUID().slice(0, 8)}`
  const { command } = (await admin.post('/commands', { botId: bot.id, url, name })).body
  const { subscription } = (await admin.post('/subscriptions', { botId: bot.id, url, events: ['NEW_MESSAGE'] })).body
  const scimClient = (await admin.post('/admin/scim-clients', { name: 'a directory' })).body
  const [session] = (await admin.get(`/users/${bob.id}/sessions`)).body.sessions
  const direct = async (content: string): Promise<string> =>
    (await admin.post(`/conversations/${conversation.id}/messages`, { content })).body.message.id
  await vi.waitUntil(async () => (await admin.get(`/admin/exports/${exported.id}`)).body.state === 'ready', {
    timeout: 60_000,
    interval: 100,
  })
  const { attachments } = await admin.sends(channel, { attachments: [await admin.uploads('notes.txt', samples.txt)] })
  return {
    file: samples.txt.toString('base64'),
    image: samples.png.toString('base64'),
    thumbnail: samples.png.toString('base64'),
    storedFile: attachments[0]!.filename,
    channelImage: await admin.uploadsImage(`/channels/${channel.id}/messages`, 'a picture.png', samples.png),
    directImage: await admin.uploadsImage(`/conversations/${conversation.id}/messages`, 'a picture.png', samples.png),
    conversationId: conversation.id,
    directMessageId: await direct('a word'),
    directQuotedId: await direct('another'),
    channelId: channel.id,
    messageId: message.id,
    quotedMessageId: quoted.id,
    replyId: reply?.id,
    webhookId: webhook.id,
    webhookToken: webhook.token,
    threadId: message.id,
    groupId: group.id,
    botId: bot.id,
    tokenId: botToken.id,
    subscriptionId: subscription.id,
    url,
    interactivityUrl: url,
    commandId: command.id,
    text: '/help',
    emoji: '🦆',
    secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
    clientId: scimClient.id,
    sessionId: session.id,
    exportId: exported.id,
    id: bob.id,
    userId: bob.id,
    targetUserId: bob.id,
  }
}

/** The number of concurrent requests: enough to keep the server busy, and few enough to distinguish a hang from a queue. */
async function inSmallGroups<T>(items: readonly T[], work: (item: T) => Promise<unknown>, size = 8) {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: size }, worker))
}
