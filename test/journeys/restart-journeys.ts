import { once } from 'node:events'
import net from 'node:net'
import type { Channel, Message } from '@parley/contract'
import type { Person } from '@parley/test'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function restartJourneys(server: TestServer) {
  const history = async (person: Person, channel: Channel): Promise<Message[]> =>
    (await person.get(`/channels/${channel.id}/messages`)).body.messages

  const ways = [
    { way: 'stopped', end: () => server.installation.stop() },
    { way: 'killed with all it started', end: () => server.installation.killEverything() },
  ]

  test.each(ways)('everything acknowledged is there after it was $way', { timeout: 120_000 }, async ({ end }) => {
    const ann = await server.newcomer('ann')
    const channel = await ann.creates({ name: server.unique('kept') })
    const before = await ann.opensStream()
    const said = [await ann.says('heard', channel)]
    await before.waitFor('NEW_MESSAGE', { id: said[0]!.id })
    for (const content of ['one', 'two', 'three']) said.push(await ann.says(content, channel))
    await before.close()
    const cursor = before.cursor

    await end()
    await server.installation.start()

    expect(await history(ann, channel)).toEqual(said)
    const resumed = await ann.opensStream(cursor)
    expect(resumed.connected.payload.resumed).toBe(true)
    said.push(await ann.says('after', channel))
    await resumed.waitFor('NEW_MESSAGE', { id: said.at(-1)!.id })
    expect(said.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    const heard = resumed.all('NEW_MESSAGE').filter(({ channelId }) => channelId === channel.id)
    const already = before.all('NEW_MESSAGE').filter(({ channelId }) => channelId === channel.id)
    expect([...already, ...heard].map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    await resumed.close()
  })

  test('a request that never ends and a client that never reads hold up no stop', { timeout: 120_000 }, async () => {
    const ann = await server.newcomer('ann')
    const { hostname, port } = new URL(server.baseUrl)
    const open = (head: string) => {
      const socket = net.connect(Number(port), hostname)
      socket.on('error', () => {})
      socket.write(`${head} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${ann.token}\r\n`)
      return socket
    }
    const upload = open('POST /channels')
    upload.write('Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"name":')
    const reader = open('GET /events')
    reader.write('\r\n')
    await once(reader, 'readable')
    // Neither client ends its request or continues to read. `stop` requires that everything ends in order, and that no
    // process stays.
    await server.installation.stop()
    upload.destroy()
    reader.destroy()

    await server.installation.start()
    expect((await ann.get('/auth/me')).status).toBe(200)
  })
}
