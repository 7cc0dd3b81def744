import { testEnvironment } from '@parley/test/test-environment'
import type { WebClient } from '@slack/web-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { slackClient, tsOf, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()
const clientWith = (token: string | undefined) => slackClient(environment, token)
let slack: WebClient
beforeAll(() => {
  slack = slackClient(environment, environment.people.ann.token)
})

describe('the reactions and pins methods for @slack/web-api', () => {
  test('reacts, pins, opens direct messages, and lists people', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const { ts } = await slack.chat.postMessage({ channel: `#${open.name}`, text: 'look' })
    await slack.reactions.add({ channel: open.id, timestamp: ts!, name: 'thumbsup' })
    const { message } = await slack.reactions.get({ channel: open.id, timestamp: ts! })
    expect(message?.reactions).toEqual([{ name: '+1', users: [ann.id], count: 1 }])
    await slack.reactions.remove({ channel: open.id, timestamp: ts!, name: 'thumbsup' })
    await slack.pins.add({ channel: open.id, timestamp: ts! })
    expect((await slack.pins.list({ channel: open.id })).items).toHaveLength(1)
    await slack.pins.remove({ channel: open.id, timestamp: ts! })
    const direct = await slack.conversations.open({ users: bob.id })
    expect(direct.channel?.id).toMatch(/^dm:/)
    await slack.chat.postMessage({ channel: bob.id, text: 'psst' })
    await environment.events.to(bob).toHave('NEW_DM_MESSAGE', { content: 'psst' })
    expect((await slack.users.list({})).members?.map(({ id }) => id)).toContain(bob.id)
    expect((await slack.users.info({ user: bob.id })).user).toMatchObject({ name: bob.userName, is_bot: false })
    expect((await slack.conversations.members({ channel: open.id })).members).toContain(ann.id)
  })

  test('a reaction or pin that is there already, or not at all, has the error code of Slack', async () => {
    const { bob } = environment.people
    const { open } = environment.channel
    const { ts } = await slack.chat.postMessage({ channel: open.id, text: 'twice' })
    const one = { channel: open.id, timestamp: ts! }
    const eyes = { ...one, name: 'eyes' }
    // Some programs use the reaction of their bot as a lock: of two calls at the same time, one succeeds.
    const added = await Promise.all([wordOf(slack.reactions.add(eyes)), wordOf(slack.reactions.add(eyes))])
    expect(added.sort()).toEqual(['already_reacted', 'ok'])
    expect(await wordOf(clientWith(bob.token).reactions.remove(eyes))).toBe('no_reaction')
    expect(await wordOf(slack.reactions.remove(eyes))).toBe('ok')
    expect(await wordOf(slack.reactions.remove(eyes))).toBe('no_reaction')
    expect(await wordOf(slack.pins.remove(one))).toBe('no_pin')
    expect(await wordOf(slack.pins.add(one))).toBe('ok')
    expect(await wordOf(slack.pins.add(one))).toBe('already_pinned')
    expect(await wordOf(slack.pins.remove(one))).toBe('ok')
  })

  test('a reaction by name is the emoji that people see, and their emoji have names', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const message = await bob.says('react', environment.channel.open)
    const one = { channel: open.id, timestamp: await tsOf(slack, open, message) }
    await slack.reactions.add({ ...one, name: 'white_check_mark' })
    await slack.reactions.add({ ...one, name: 'thumbsup::skin-tone-3' })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u2705\ufe0f' })
    // Other clients leave out the variation selector, and earlier versions stored names.
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u2764' })
    await ann.post(`/messages/${message.id}/reactions`, { reaction: ':heart:' })
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({
      '\u2705\ufe0f': [ann.id, bob.id],
      '\u{1f44d}\u{1f3fc}': [ann.id],
      '\u2764': [bob.id],
      ':heart:': [ann.id],
    })

    const { messages } = await slack.conversations.history({ channel: open.id, limit: 1 })
    expect(messages?.[0]?.reactions).toEqual([
      { name: 'white_check_mark', users: [ann.id, bob.id], count: 2 },
      { name: '+1::skin-tone-3', users: [ann.id], count: 1 },
      { name: 'heart', users: [bob.id, ann.id], count: 2 },
    ])
    for (const name of ['white_check_mark', '+1::skin-tone-3', 'heart']) await slack.reactions.remove({ ...one, name })
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({
      '\u2705\ufe0f': [bob.id],
      '\u2764': [bob.id],
    })
  })

  test('a reaction is removed in all spellings that the person used, which Slack’s programs see as one', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const message = await bob.says('react in several spellings', environment.channel.open)
    const one = { channel: open.id, timestamp: await tsOf(slack, open, message) }
    for (const reaction of ['\u2764', ':heart:', ':thumbsup:'])
      await ann.post(`/messages/${message.id}/reactions`, { reaction })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: ':heart:' })
    for (const name of ['heart', '+1']) await slack.reactions.remove({ ...one, name })
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({ ':heart:': [bob.id] })
    for (const name of ['heart', '+1', 'eyes'])
      expect(await wordOf(slack.reactions.remove({ ...one, name }))).toBe('no_reaction')
  })

  test('a reaction gets the spelling that it has already, and nobody has it in two spellings', async () => {
    const { ann, bob } = environment.people
    const { open } = environment.channel
    const message = await bob.says('react once', environment.channel.open)
    const one = { channel: open.id, timestamp: await tsOf(slack, open, message) }
    await ann.post(`/messages/${message.id}/reactions`, { reaction: ':heart:' })
    await bob.post(`/messages/${message.id}/reactions`, { reaction: '\u2705\ufe0f' })
    expect(await wordOf(slack.reactions.add({ ...one, name: 'heart' }))).toBe('already_reacted')
    expect(await wordOf(clientWith(bob.token).reactions.add({ ...one, name: 'heart' }))).toBe('ok')
    expect(await wordOf(slack.reactions.add({ ...one, name: 'white_check_mark' }))).toBe('ok')
    expect((await bob.get(`/messages/${message.id}`)).body.message.reactions).toEqual({
      ':heart:': [ann.id, bob.id],
      '\u2705\ufe0f': [bob.id, ann.id],
    })
  })
})
