import { createHmac } from 'node:crypto'
import type { Person } from '@parley/test'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Sent, startsApp } from '../apps/app.testing.ts'
import { createsBot } from '../bot.testing.ts'
import { eventually, subscriptionEnvironment } from './subscriptions.testing.ts'

const { environment, looksForChanges } = subscriptionEnvironment()
let bot: Person
let secret: string
beforeAll(async () => {
  bot = await createsBot(environment, 'listener')
  secret = await rotatesSecret()
})
const rotatesSecret = async (): Promise<string> =>
  (await environment.people.ada.put(`/bots/${bot.id}`, { signingSecret: 'rotate' })).body.signingSecret

const json = ({ body }: Sent) => JSON.parse(body)
const sentAt = ({ headers }: Sent) => Number(headers['x-slack-request-timestamp'])
const signatureOf = (sent: Sent, by: string) =>
  `v0=${createHmac('sha256', by)
    .update(`v0:${sentAt(sent)}:${sent.body}`)
    .digest('hex')}`

/** A subscription that gets one event of Parley as three events of Slack. Its receiver has not answered the first of them yet. */
async function isSentFirstOfThree() {
  const { ann, ada, bob, cat } = environment.people
  const answered = Promise.withResolvers<void>()
  const app = await startsApp(async (sent) => {
    const { challenge } = json(sent)
    if (challenge) return { challenge }
    if (events().length === 1) await answered.promise
    return ''
  })
  const events = () => app.sent.filter((sent) => json(sent).event)
  const wish = { url: app.url, format: 'slack', events: ['member_joined_channel'] }
  const { subscription } = (await bot.post('/subscriptions', wish)).body
  const channel = await ann.creates({ name: `told about ${subscription.id}` })
  const members = [ada, bob, cat].map(({ id }) => id)
  expect(await ann.put(`/channels/${channel.id}`, { members })).toMatchObject({ status: 200 })
  await eventually(() => expect(events()).toHaveLength(1))
  return { path: `/subscriptions/${subscription.id}`, events, app, answer: answered.resolve }
}

describe('when one event of Parley is several events of Slack', () => {
  test('each request is signed when it is sent', async () => {
    const { path, events, answer } = await isSentFirstOfThree()
    await looksForChanges()
    answer()
    await eventually(() => expect(events()).toHaveLength(3))
    const [first, second] = events()
    expect(sentAt(second!)).toBeGreaterThan(sentAt(first!))
    for (const sent of events()) expect(sent.headers['x-slack-signature']).toBe(signatureOf(sent, secret))
    await bot.delete(path)
  })

  test('the event is sent again from its first request when the secret changes', async () => {
    const { path, events, answer } = await isSentFirstOfThree()
    secret = await rotatesSecret()
    await looksForChanges()
    answer()
    await eventually(() => expect(events()).toHaveLength(4))
    for (const sent of events().slice(1)) expect(sent.headers['x-slack-signature']).toBe(signatureOf(sent, secret))
    expect(json(events()[1]!).event_id).toBe(json(events()[0]!).event_id)
    await bot.delete(path)
  })

  test.each<[string, (path: string) => Promise<unknown>]>([
    ['is deleted', (path) => bot.delete(path)],
    ['is paused', (path) => bot.put(path, { isPaused: true })],
    ['loses its bot', () => environment.people.ada.put(`/users/${bot.id}/active`, { isActive: false })],
  ])('a subscription that %s after the first request gets no further one', async (_, change) => {
    const { path, events, answer } = await isSentFirstOfThree()
    expect(await change(path)).toMatchObject({ status: 200 })
    await looksForChanges()
    answer()
    await looksForChanges()
    expect(events()).toHaveLength(1)
  })
})
