import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Message, Preview } from '@parley/contract'
import { testEnvironment } from '@parley/test/test-environment'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

/** The only address that may be called. The web site of these tests listens there. */
const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })

const page = (name: string) => `<!doctype html><title>${name}</title>
  <meta property="og:description" content="All about it"><meta property="og:site_name" content="Example">
  <meta property="og:image" content="/image.png">`
const picture = await sharp({ create: { width: 1_200, height: 600, channels: 3, background: '#246' } })
  .png()
  .toBuffer()

const pages: Record<string, RequestListener> = {
  '/page': (_, response) => void response.setHeader('content-type', 'text/html').end(page('A page')),
  '/other': (_, response) => void response.setHeader('content-type', 'text/html').end('<title>Another page</title>'),
  '/moved': (_, response) => void response.writeHead(301, { location: '/page' }).end(),
  '/inside': (_, response) => void response.writeHead(302, { location: 'http://127.0.0.2/' }).end(),
  '/to-us': (_, response) => void response.writeHead(302, { location: hidden }).end(),
  '/text': (_, response) => void response.setHeader('content-type', 'text/plain').end('no page'),
  '/missing': (_, response) => void response.writeHead(404, { 'content-type': 'text/html' }).end(page('Not found')),
  '/image.png': (_, response) => void response.setHeader('content-type', 'image/png').end(picture),
}
/** An address of this server, to which the site redirects. */
let hidden = ''
const requests: string[] = []
const site = createServer((request, response) => {
  requests.push(request.url!)
  pages[new URL(request.url!, 'http://site').pathname]!(request, response)
})
let origin = ''
beforeAll(async () => {
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
})
afterAll(() => void site.close())
beforeEach(() => void requests.splice(0))

const previewOf = (path: string, title = 'A page') => ({
  url: `${origin}${path}`,
  title,
  description: 'All about it',
  siteName: 'Example',
  image: { name: expect.any(String), width: 512, height: 256 },
})

/** Sends a message and waits for its previews. */
async function shows(content: string, channel = environment.channel.secret): Promise<Message> {
  const { ann, bob } = environment.people
  const { id } = await ann.says(content, channel)
  await environment.events
    .to(bob)
    .toHave('UPDATE_MESSAGE', (message) => message.id === id && message.previews.length > 0)
  return (await ann.get(`/messages/${id}`)).body.message
}

describe('a message with links', () => {
  test('gets their previews, with an image that the readers of the channel may read', async () => {
    const { bob, cat } = environment.people
    const message = await shows(`see ${origin}/page?one and ${origin}/moved, not ${origin}/missing`)
    expect(message).toMatchObject({
      previews: [previewOf('/page?one'), previewOf('/moved')],
      rev: 2,
      updatedAt: null,
    })
    const [first, second] = message.previews.map(({ image }) => image!.name)
    expect(first).not.toBe(second)
    const path = `/channels/${message.channelId}/messages/image/${first}`
    const image = await bob.downloads(path)
    expect([image.status, image.headers['content-type']]).toEqual([200, 'image/webp'])
    expect(await sharp(image.bytes).metadata()).toMatchObject({ format: 'webp', width: 512, height: 256 })
    expect(await cat.downloads(path)).toMatchObject({ status: 403 })
  })

  test('has those of the first three only, and a page that was fetched today is not fetched again', async () => {
    const links = [1, 2, 3, 4].map((n) => `${origin}/page?n=${n}`)
    const message = await shows(links.join('\n'))
    expect(message.previews.map(({ url }) => url)).toEqual(links.slice(0, 3))
    expect(requests.filter((path) => path.startsWith('/page'))).toHaveLength(3)

    await shows(`again ${links[0]} and ${links[1]}`)
    expect(requests.filter((path) => path.startsWith('/page'))).toHaveLength(3)
  })

  test('has none for addresses without a page, without a reply, or inside the network', async () => {
    const inside = ['http://127.0.0.2/', 'http://2130706434/', 'http://[::1]/', 'http://localhost.invalid/']
    for (const link of [`${origin}/text`, `${origin}/missing`, `${origin}/inside`, ...inside]) {
      // The preview of the last link shows that all links were fetched.
      const { previews } = await shows(`${link} ${origin}/other`)
      expect(previews).toEqual([
        { url: `${origin}/other`, title: 'Another page', description: null, siteName: null, image: null },
      ])
    }
  })

  test('shows nothing of a private channel, under any name of this server, nor by a redirect', async () => {
    const { ann, cat } = environment.people
    const { secret, open } = environment.channel
    const { id } = await ann.says('known to few', secret)
    await ann.post(`/messages/${id}/thread`, { content: 'known to few' })
    const { baseUrl } = environment
    const { appUrl } = environment.deps.config.auth
    const places = [
      `/c/${secret.id}/${id}`,
      `/messages/${id}`,
      `/messages/${id}/thread`,
      `/channels/${secret.id}/messages`,
      `/search?q=known`,
    ]
    const names = [appUrl, baseUrl.replace('127.0.0.1', '2130706433')]
    for (const link of [...places.map((place) => baseUrl + place), ...names.map((name) => name + places[0])]) {
      hidden = link
      const { body } = await cat.post(`/channels/${open.id}/messages`, {
        content: `${hidden} ${origin}/to-us?${encodeURIComponent(hidden)} ${origin}/other`,
      })
      // The preview of the last link shows that all links were fetched.
      const isPreviewed = (message: Message) => message.id === body.message.id && message.previews.length > 0
      await environment.events.to(cat).toHave('UPDATE_MESSAGE', isPreviewed)
      const { previews } = (await cat.get(`/messages/${body.message.id}`)).body.message as Message
      expect(previews.at(-1)!.title).toBe('Another page')
      expect(JSON.stringify(previews)).not.toMatch(/known to few|secret/)
    }
    const remembered = await environment.deps.db.selectFrom('linkPreviews').select(['title', 'description']).execute()
    expect(JSON.stringify(remembered)).not.toMatch(/known to few|secret/)
  })

  test('gets others when it is edited, in a thread and a conversation too', async () => {
    const { ann, bob } = environment.people
    const message = await shows(`${origin}/page`)
    await ann.put(`/messages/${message.id}`, { content: `${origin}/other` })
    const isOther = ({ id, previews }: Message) => id === message.id && previews[0]?.title === 'Another page'
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', isOther)
    const image = `/channels/${message.channelId}/messages/image/${message.previews[0]!.image!.name}`
    expect(await ann.downloads(image)).toMatchObject({ status: 404 })

    await ann.post(`/messages/${message.id}/thread`, { content: `${origin}/other` })
    await environment.events.to(bob).toHave('UPDATE_THREAD_REPLY', ({ previews }) => previews.length === 1)
    const { body } = await ann.post('/conversations', { targetUserId: bob.id })
    await ann.post(`/conversations/${body.conversation.id}/messages`, { content: `${origin}/other` })
    await environment.events.to(bob).toHave('UPDATE_DM_MESSAGE', ({ previews }) => previews.length === 1)
  })
})

test('an edit removes the previews of links that the message has no more, and only these', async () => {
  const { ann, bob } = environment.people
  const [page, longer] = [`${origin}/page?kept`, `${origin}/page?kept-not`]
  const message = await shows(`${page} ${longer}`)
  const [kept, dropped] = message.previews
  const edited = (await ann.put(`/messages/${message.id}`, { content: `only ${page}` })).body.message
  expect(edited).toMatchObject({ previews: [kept], rev: message.rev + 1 })
  await environment.events.to(bob).toHave('UPDATE_MESSAGE', edited)
  const imageOf = ({ image }: Preview) => `/channels/${message.channelId}/messages/image/${image!.name}`
  expect(await ann.downloads(imageOf(dropped!))).toMatchObject({ status: 404 })
  expect(await ann.downloads(imageOf(kept!))).toMatchObject({ status: 200 })

  const without = (await ann.put(`/messages/${message.id}`, { content: '`code` only' })).body.message
  expect(without).toMatchObject({ previews: [], rev: message.rev + 2 })
  expect(await ann.downloads(imageOf(kept!))).toMatchObject({ status: 404 })
  await ann.put(`/messages/${message.id}`, { content: page })
  const isBack = ({ id, previews }: Message) => id === message.id && previews[0]?.url === page
  await environment.events.to(bob).toHave('UPDATE_MESSAGE', isBack)
})

describe('DELETE /messages/:messageId/previews', () => {
  test('removes them permanently, and only for the author', async () => {
    const { ann, bob, cat } = environment.people
    const message = await shows(`${origin}/page`)
    const path = `/messages/${message.id}/previews`
    expect(await bob.delete(path)).toMatchObject({ status: 403 })
    expect(await cat.delete(path)).toMatchObject({ status: 403 })

    const removed = await ann.delete(path)
    expect(removed.body).toEqual({ message: { ...message, previews: [], rev: message.rev + 1 } })
    await environment.events.to(bob).toHave('UPDATE_MESSAGE', removed.body.message)
    expect((await ann.delete(path)).body).toEqual(removed.body)

    await ann.put(`/messages/${message.id}`, { content: `${origin}/other` })
    await shows(`${origin}/page?later`)
    expect((await ann.get(`/messages/${message.id}`)).body.message.previews).toEqual([])
  })
})

test('only a message that may have links is looked at', async () => {
  const { ann } = environment.people
  const jobs = () => environment.deps.db.selectFrom('jobs').select('id').where('name', '=', 'make-previews').execute()
  const { id } = await ann.says('nothing to see', environment.channel.secret)
  await ann.put(`/messages/${id}`, { content: 'still nothing' })
  expect(await jobs()).toEqual([])
})
