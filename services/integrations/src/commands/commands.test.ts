import { randomUUID } from 'node:crypto'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { testCommands } from './commands.testing.ts'

const environment = testEnvironment()
const { bot, adds } = testCommands(environment)

describe('commands', () => {
  test('are added, changed and deleted by admins, and all that is audited', async () => {
    const { ada, ann } = environment.people
    const { id, name } = await adds('https://app.example/run', { description: 'Runs' })
    const listed = async (person: Person) =>
      (await person.get('/commands')).body.commands.find((each: { name: string }) => each.name === name)
    expect(await listed(ann)).toEqual({
      id,
      name,
      botId: bot.id,
      description: 'Runs',
      usageHint: '',
      createdAt: expect.any(Number),
    })
    expect(await ada.put(`/commands/${id}`, { usageHint: '<what>' })).toMatchObject({
      status: 200,
      body: { command: { description: 'Runs', usageHint: '<what>', url: 'https://app.example/run' } },
    })
    expect(await ada.delete(`/commands/${id}`)).toMatchObject({ status: 200 })
    expect(await listed(ada)).toBe(undefined)
    expect(await ada.put(`/commands/${id}`, { usageHint: '' })).toMatchObject({ status: 404 })
    const { entries } = (await ada.get('/admin/audit-log')).body
    const actions = entries.filter((entry: { targetId: string }) => entry.targetId === id)
    expect(actions.map(({ action }: { action: string }) => action)).toEqual([
      'command.delete',
      'command.update',
      'command.create',
    ])
  })

  test.each([
    [{ name: 'Deploy Now' }],
    [{ name: '/' }],
    [{ name: 'x'.repeat(33) }],
    [{ description: 'turned \u202Earound' }],
    [{ usageHint: 'two\nlines' }],
    [{ name: '/help' }],
    [{ url: 'ftp://a.example' }],
    [{ url: 'https://ann:secret@a.example' }],
    [{ botId: 'nonsense' }],
  ])('refuse %j', async (wish) => {
    const body = { botId: bot.id, name: `n-${randomUUID().slice(0, 8)}`, url: 'https://app.example/', ...wish }
    expect(await environment.people.ada.post('/commands', body)).toMatchObject({ status: 400 })
  })

  test('have unique names, also when two admins choose the same one at once', async () => {
    const { ada, ann } = environment.people
    const body = { botId: bot.id, name: 'same', url: 'https://app.example/' }
    const responses = await Promise.all([ada.post('/commands', body), ada.post('/commands', body)])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400])
    expect(await ada.post('/commands', { ...body, botId: ann.id, name: 'other' })).toMatchObject({ status: 400 })
  })

  test('make their bot an app, whose secret is shown once and stored encrypted', async () => {
    const { ada, ann } = environment.people
    const { bot: unused } = (await ada.post('/bots', { userName: `app ${randomUUID()}` })).body
    const body = { botId: unused.id, url: 'https://app.example/' }
    const first = (await ada.post('/commands', { ...body, name: 'first-one' })).body
    expect(first.signingSecret).toMatch(/^[0-9a-f]{32}$/)
    expect((await ada.post('/commands', { ...body, name: 'second-one' })).body.signingSecret).toBe(undefined)
    const { status, body: changed } = await ada.put(`/bots/${unused.id}`, {
      interactivityUrl: 'https://app.example/clicks',
      signingSecret: 'rotate',
    })
    expect([status, changed.bot.interactivityUrl]).toEqual([200, 'https://app.example/clicks'])
    expect(changed.signingSecret).not.toBe(first.signingSecret)
    const listed = JSON.stringify((await ada.get('/bots')).body)
    expect(listed).toContain('https://app.example/clicks')
    expect(listed).not.toContain(changed.signingSecret)
    const row = await environment.deps.db.selectFrom('apps').selectAll().where('botId', '=', unused.id).execute()
    expect(JSON.stringify(row)).not.toContain(changed.signingSecret)
    expect((await ada.put(`/bots/${unused.id}`, { interactivityUrl: '' })).body.bot.interactivityUrl).toBe(null)
    expect(await ada.put(`/bots/${unused.id}`, {})).toMatchObject({ status: 400 })
    expect(await ada.put(`/bots/${ann.id}`, { signingSecret: 'rotate' })).toMatchObject({ status: 404 })
    expect(await ann.put(`/bots/${unused.id}`, { signingSecret: 'rotate' })).toMatchObject({ status: 403 })
    const { entries } = (await ada.get('/admin/audit-log?action=bot.update')).body
    expect(entries[0]).toMatchObject({ targetId: unused.id, metadata: { fields: ['interactivityUrl'] } })
  })
})
