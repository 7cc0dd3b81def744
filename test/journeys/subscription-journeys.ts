import { expect, onTestFinished, test } from 'vitest'
import { SubscribedReceiver } from '../faults/subscribed-receiver.ts'
import type { TestServer } from '../src/test-server.ts'

const patienceMs = 60_000

export function subscriptionJourneys(server: TestServer) {
  test('a replay while the receiver has not answered yet sends everything again, and loses nothing', async () => {
    const [admin, ann] = [await server.admin(), await server.newcomer('ann')]
    const channel = await ann.creates({ name: server.unique('replayed') })
    const receiver = new SubscribedReceiver()
    onTestFinished(() => receiver.stop())
    const { id } = await receiver.start(admin)
    const since = (await ann.says('first', channel)).createdAt
    await receiver.untilHeard(channel.id, 1, patienceMs)

    const held = receiver.hold(patienceMs)
    await ann.says('second', channel)
    await held
    await ann.says('third', channel)
    expect(await admin.post(`/subscriptions/${id}/replay`, { since })).toMatchObject({ status: 200 })
    receiver.release()
    await expect.poll(() => receiver.repetitions, { timeout: patienceMs }).toBeGreaterThanOrEqual(2)
    await ann.says('fourth', channel)
    await receiver.untilHeard(channel.id, 4, patienceMs)

    const heard = receiver.heard.get(channel.id)!.map(({ content }) => content)
    expect(heard).toEqual(['first', 'second', 'third', 'fourth'])
    expect(receiver.faults).toEqual([])
  })
}
