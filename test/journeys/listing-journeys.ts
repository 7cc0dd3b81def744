import type { Message } from '@parley/contract'
import { expect, test } from 'vitest'
import type { TestServer } from '../src/test-server.ts'

export function listingJourneys(server: TestServer) {
  const seqs = ({ body }: { body: { messages: Message[] } }) => body.messages.map(({ seq }) => seq)

  test('the newest page comes first, oldest first within it, and paging goes back to the beginning', async () => {
    const ann = await server.newcomer('ann')
    const channel = await ann.creates({ name: server.unique('history') })
    const said: Message[] = []
    for (let n = 1; n <= 60; n++) said.push(await ann.says(`message ${n}`, channel))
    const page = (query: string) => ann.get(`/channels/${channel.id}/messages${query}`)

    const newest = await page('')
    expect(seqs(newest)).toEqual(said.slice(10).map(({ seq }) => seq))
    expect(newest.body.messages).toEqual(said.slice(10))
    expect(seqs(await page('?limit=3'))).toEqual([58, 59, 60])
    expect(seqs(await page(`?limit=3&before=${said[57]!.id}`))).toEqual([55, 56, 57])
    expect(seqs(await page(`?before=${said[2]!.id}`))).toEqual([1, 2])
    expect(seqs(await page(`?before=${said[0]!.id}`))).toEqual([])
    expect(seqs(await page('?limit=100000'))).toHaveLength(60)

    await ann.delete(`/messages/${said[57]!.id}`)
    expect(seqs(await page('?limit=3'))).toEqual([57, 59, 60])
    expect(seqs(await page(`?limit=3&before=${said[57]!.id}`))).toEqual([55, 56, 57])
  })

  test.each(['limit=0', 'limit=-1', 'limit=1.5', 'limit=x', 'before=x', 'before=00000000-0000-7000-8000-000000000000'])(
    'refuses ?%s',
    async (query) => {
      const ann = await server.newcomer('ann')
      const channel = await ann.creates({ name: server.unique('refusals') })
      expect(await ann.get(`/channels/${channel.id}/messages?${query}`)).toMatchObject({
        status: 400,
        body: { error: expect.any(String) },
      })
    },
  )

  test('a message of another channel is no place to page from', async () => {
    const ann = await server.newcomer('ann')
    const [here, there] = [
      await ann.creates({ name: server.unique('here') }),
      await ann.creates({ name: server.unique('there') }),
    ]
    const { id } = await ann.says('here', here)
    expect((await ann.get(`/channels/${there.id}/messages?before=${id}`)).status).toBe(400)
  })
}
