import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { testCommands } from '../commands/commands.testing.ts'
import { startsApp } from './app.testing.ts'

const environment = testEnvironment({ integrations: { allowedNetworks: ['127.0.0.1'] } })
const { adds, types } = testCommands(environment)

describe('response_url', () => {
  const answers = async (url: string, payload: unknown) => {
    const response = await fetch(environment.baseUrl + new URL(url).pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })
    return [response.status, await response.text()]
  }

  test('accepts five responses, and does not count unreadable ones', async () => {
    const { ann, bob } = environment.people
    const app = await startsApp()
    const { name } = await adds(app.url)
    await types(ann, `/${name}`)
    const { response_url: url } = app.sent[0]!.form as { response_url: string }
    expect(await answers(url, '{')).toEqual([400, 'invalid_payload'])
    expect(await answers(`${url}x`, { text: 'x' })).toEqual([404, 'no_service'])
    expect(await answers(url, { text: 'to you' })).toEqual([200, 'ok'])
    await environment.events.to(ann).toHave('EPHEMERAL_MESSAGE', { content: 'to you' })
    expect(await answers(url, { response_type: 'in_channel', text: 'to all' })).toEqual([200, 'ok'])
    await environment.events.to(bob).toHave('NEW_MESSAGE', { content: 'to all' })
    const all = await Promise.all(Array.from({ length: 8 }, () => answers(url, { text: 'more' })))
    expect(all.map(([, word]) => word).sort()).toEqual([...Array(3).fill('ok'), ...Array(5).fill('used_url')])
  })

  test('ends when the person who typed the command may no longer read the channel', async () => {
    const { ada, ann, bob } = environment.people
    const [fay, guy] = [
      await Person.signIn(environment.baseUrl, 'fay@example.com'),
      await Person.signIn(environment.baseUrl, 'guy@example.com'),
    ]
    const members = [bob.id, fay.id, guy.id]
    const channel = await ann.creates({ name: `leaving ${randomUUID()}`, isPrivate: true, members })
    const app = await startsApp()
    const { name } = await adds(app.url)
    for (const person of [bob, fay, guy]) await types(person, `/${name}`, channel.id)
    await ann.put(`/channels/${channel.id}`, { removeMembers: [bob.id] })
    await ada.put(`/users/${fay.id}/active`, { isActive: false })
    // The time of this guest is over, and the worker has not deactivated them yet.
    expect((await ada.put(`/users/${guy.id}/role`, { role: 'guest' })).status).toBe(200)
    await environment.deps.db
      .updateTable('users')
      .set({ guestExpiresAt: environment.deps.clock() - 1 })
      .where('id', '=', guy.id)
      .execute()
    for (const { form } of app.sent) {
      const answer = { text: 'too late', response_type: 'in_channel' }
      expect(await answers(form.response_url!, answer)).toEqual([404, 'no_service'])
    }
    expect((await ann.get(`/channels/${channel.id}/messages`)).body.messages).toEqual([])
  })

  test('ends after half an hour', async () => {
    const app = await startsApp()
    const { name } = await adds(app.url)
    await types(environment.people.ann, `/${name}`)
    environment.stopClock()
    environment.pass(30 * 60_000)
    expect(await answers(app.sent[0]!.form.response_url!, { text: 'late' })).toEqual([404, 'expired_url'])
    environment.pass(-30 * 60_000)
  })
})
