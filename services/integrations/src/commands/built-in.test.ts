import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { testCommands } from './commands.testing.ts'

const environment = testEnvironment()
const { bot, adds, types, last } = testCommands(environment)

describe('the server handles', () => {
  const told = async (text: string, channelId?: string) =>
    (await types(environment.people.ann, text, channelId)).body.ephemeral?.content

  test('/help and unknown commands with the list of all commands', async () => {
    const { name } = await adds('https://app.example/', { usageHint: '[service]', description: 'Deploys' })
    expect(await told('/help')).toContain(`- \`/${name} [service]\` Deploys`)
    expect((await types(environment.people.ann, '/nothing at all')).body).toMatchObject({
      ephemeral: { content: expect.stringMatching(/There is no command \/nothing\. .*`\/dm @name <text>`/s) },
      isRefused: true,
    })
    expect(await types(environment.people.ann, 'no slash')).toMatchObject({ status: 400 })
    expect(await types(environment.people.ann, '/ help')).toMatchObject({ status: 400 })
  })

  test('/help with as many commands as fit into a message', async () => {
    const hint = 'x'.repeat(limits.commandHint)
    const rows = Array.from({ length: 60 }, (_, n) => ({
      ...{
        id: randomUUID(),
        botId: bot.id,
        name: `many-${n}`,
        url: 'https://app.example/',
        description: hint,
        usageHint: hint,
      },
      ...{ createdBy: environment.people.ada.id, createdAt: 0 },
    }))
    await environment.deps.db.insertInto('commands').values(rows).execute()
    const content = (await told('/help')) as string
    expect(content).toMatch(/\n- … and \d+ more$/)
    expect(content.length).toBeLessThan(limits.content)
    const ids = rows.map(({ id }) => id)
    await environment.deps.db.updateTable('commands').set({ deletedAt: 1 }).where('id', 'in', ids).execute()
  })

  test('/me and /shrug with a message of the caller', async () => {
    const { ann } = environment.people
    const { id } = environment.channel.secret
    await types(ann, '/me waves')
    expect(await last(id)).toMatchObject({ content: '_waves_', author: { id: ann.id } })
    await types(ann, '/shrug who knows')
    expect(await last(id)).toMatchObject({ content: 'who knows ¯\\_(ツ)_/¯' })
    expect(await told('/me')).toContain('Please type /me')
  })

  test('/topic, /invite and /leave with the rights of the caller', async () => {
    const { ann, bob, cat } = environment.people
    const { id } = await ann.creates({ name: `commands ${randomUUID()}`, isPrivate: true, members: [bob.id] })
    await types(ann, '/topic Release 7', id)
    expect(await told(`/invite @${cat.userName}`, id)).toContain('is in the channel now')
    expect((await ann.get(`/channels/${id}`)).body.channel).toMatchObject({ topic: 'Release 7', memberCount: 3 })
    expect(await told(`/invite ${cat.userName.toUpperCase()}`, id)).toContain('already')
    expect(await told('/invite @nobody-here', id)).toContain('No user has the name @nobody-here')
    const { body } = await types(bob, '/topic mine', id)
    expect(body.isRefused).toBe(true)
    const refused = body.ephemeral.content
    expect(refused).toBeTruthy()
    expect((await bob.get(`/channels/${id}`)).body.channel.topic).toBe('Release 7')
    await types(cat, '/leave', id)
    expect(await cat.get(`/channels/${id}`)).toMatchObject({ status: 403 })
  })

  test('/invite of several people at the same time, and all of them are in the channel', async () => {
    const { ann, bob, cat, ada } = environment.people
    const channel = await ann.creates({ name: `invited ${randomUUID()}`, isPrivate: true })
    const texts = await Promise.all([ada, bob, cat].map(({ userName }) => told(`/invite @${userName}`, channel.id)))
    for (const text of texts) expect(text).toContain('is in the channel now')
    expect((await ann.get(`/channels/${channel.id}`)).body.channel.memberCount).toBe(4)
  })

  test('/status and /dm', async () => {
    const { ann, bob } = environment.people
    expect(await told('/status away')).toContain('away')
    expect((await bob.get(`/presence?ids=${ann.id}`)).body.presence).toMatchObject([{ status: 'away' }])
    expect(await told('/status asleep')).toContain('/status online')
    await types(ann, `/dm @${bob.userName}   are you there?`)
    await environment.events.to(bob).toHave('NEW_DM_MESSAGE', { content: 'are you there?' })
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    expect(await told('/topic x', conversation.id)).toContain('for channels')
  })

  test('/status with a text, which becomes the custom status, until it is cleared', async () => {
    const { ann } = environment.people
    const shown = async () => (await ann.get(`/users?ids=${ann.id}`)).body.users[0].customStatus
    expect(await told('/status away :palm_tree: On  holiday')).toBe('You are shown as away: :palm_tree: On  holiday')
    expect(await shown()).toEqual({ text: 'On holiday', emoji: '🌴', expiresAt: null })
    await told('/status online')
    expect(await shown()).toMatchObject({ text: 'On holiday' })
    await told('/status away 🍵')
    expect(await shown()).toEqual({ text: '', emoji: '🍵', expiresAt: null })
    await told('/status away ❤ on a date')
    expect(await shown()).toEqual({ text: 'on a date', emoji: '❤️', expiresAt: null })
    await told('/status away on holiday')
    expect(await shown()).toEqual({ text: 'on holiday', emoji: null, expiresAt: null })
    await told('/status Online :no-such-emoji: 5 minutes')
    expect(await shown()).toEqual({ text: ':no-such-emoji: 5 minutes', emoji: null, expiresAt: null })
    expect(await told(`/status online ${'x'.repeat(101)}`)).toContain('longer than 100 characters')
    expect(await told('/status clear')).toBe('Your status text is removed.')
    expect(await shown()).toBeNull()
  })

  test('/dm to oneself with a sentence', async () => {
    expect(await told(`/dm @${environment.people.ann.userName} hello`)).toBe('You cannot write to yourself.')
  })

  test('/dm and /invite with an impossible name, with a sentence', async () => {
    for (const name of ['\ud800x', `${'a'.repeat(63)}😀`, 'x'.repeat(9_000), '', ' ']) {
      expect(await told(`/dm @${name}`)).toMatch(/No user has the name|Please type/)
      expect(await told(`/invite @${name}`)).toMatch(/No user has the name|Please type/)
    }
  })
})
