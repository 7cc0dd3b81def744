import type { Message } from '@parley/contract'
import { type Letter, openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, describe, expect, test } from 'vitest'

const mailbox = await openMailbox()
afterAll(() => mailbox.close())

const environment = testEnvironment({
  email: { host: '127.0.0.1', port: mailbox.port, missedMessages: { afterSeconds: 2 } },
})

/** A person without an open stream. */
const person = (name: string) => Person.signIn(environment.baseUrl, `${name}@example.com`)
const addressOf = ({ userName }: Person) => `${userName}@example.com`
async function conversation(author: Person, other: Person): Promise<string> {
  const { status, body } = await author.post('/conversations', { targetUserId: other.id })
  expect(status).toBe(200)
  return body.conversation.id
}
async function writesTo(other: Person, content: string, author = environment.people.ann): Promise<Message> {
  const { status, body } = await author.post(`/conversations/${await conversation(author, other)}/messages`, {
    content,
  })
  expect(status).toBe(200)
  return body.message
}
const createsGroup = async (handle: string, members: Person[]) => {
  const wish = { handle, name: handle, members: members.map(({ id }) => id) }
  const { status, body } = await environment.people.ada.post('/groups', wish)
  expect(status).toBe(200)
  return body.group as { id: string }
}

/**
 * All mails to this person, each as one text. A direct message from somebody with this content is sent last: the mail about it comes after
 * those about earlier messages, or is about them too.
 */
async function mailsTo(reader: Person): Promise<string> {
  const last = `the last one for ${reader.userName}`
  await writesTo(reader, last, environment.people.ada)
  const letters: Letter[] = []
  while (!letters.at(-1)?.source.includes(last)) letters.push(await mailbox.nextTo(addressOf(reader)))
  return letters.map(({ source }) => source).join('\n')
}

describe('a person without an open stream gets a mail about', () => {
  test('a direct message, with its text, formatting and address, and no author gets one about their own', async () => {
    const [eva, carl] = await Promise.all([person('eva'), person('carl')])
    const message = await writesTo(eva, 'The *release* is <b>ready</b>: [here](https://example.com/release)', carl)

    const { source } = await mailbox.nextTo(addressOf(eva))
    expect(source).toMatch(/^Subject: carl wrote to you \(.+\)\r$/m)
    expect(source).toContain('Auto-Submitted: auto-generated')
    expect(source).toContain('> The *release* is <b>ready</b>: [here](https://example.com/release)\r\n')
    expect(source).toContain(
      '<p>The <b>release</b> is &lt;b&gt;ready&lt;/b&gt;: <a href="https://example.com/release">here</a> (https://example.com/release)</p>',
    )
    const { channelId } = message
    expect(source).toContain(`/c/${channelId}/m/${message.id}\r\n`)
    expect(await mailsTo(carl)).not.toContain('release')
  })

  test('a mention by name, in a thread and by a group, in one mail with their number', async () => {
    const finn = await person('finn')
    const { ann } = environment.people
    await createsGroup('finns', [finn])
    const parent = await ann.says('for @finn', environment.channel.open)
    const reply = await ann.post(`/messages/${parent.id}/thread`, { content: 'a reply for @finn' })
    expect(reply.status).toBe(200)
    await ann.says('for @finns', environment.channel.open)

    const mails = await mailsTo(finn)
    const { name } = environment.channel.open
    for (const text of [
      `ann mentioned you in #${name}\r\n> for @finn\r\n`,
      `ann mentioned you in a thread of #${name}\r\n> a reply for @finn\r\n`,
      `/c/${environment.channel.open.id}/t/${parent.id}/m/${reply.body.reply.id}\r\n`,
      `ann mentioned you in #${name}\r\n> for @finns\r\n`,
    ])
      expect(mails).toContain(text)
  })

  test('a message that has only a file', async () => {
    const gina = await person('gina')
    const { ann } = environment.people
    const place = `/conversations/${await conversation(ann, gina)}/messages`
    const attachments = [await ann.uploads('plan.txt', 'the plan')]
    expect((await ann.post(place, { content: '', attachments })).status).toBe(200)
    expect(await mailsTo(gina)).toContain('ann wrote to you\r\n> (1 file)\r\n')
  })

  test('a mention by name in a muted channel', async () => {
    const hugo = await person('hugo')
    const { open } = environment.channel
    await hugo.put(`/channels/${open.id}/preferences`, { isMuted: true })
    await environment.people.ann.says('still for @hugo', open)
    expect(await mailsTo(hugo)).toContain('still for @hugo')
  })
})

describe('nobody gets a mail about', () => {
  test('what they have read, what mentions everybody, what was deleted, and what they have muted', async () => {
    const iris = await person('iris')
    const { ann, cat } = environment.people
    const { open } = environment.channel
    await createsGroup('irises', [iris])
    const read = await writesTo(iris, 'read by iris')
    await iris.put(`/conversations/${read.channelId}/read`, { seq: read.seq })
    const answered = await ann.says('answered by @iris', open)
    await iris.says('an answer', open)
    const parent = await ann.says('a parent', open)
    const reply = await ann.post(`/messages/${parent.id}/thread`, { content: 'a read reply for @iris' })
    await iris.put(`/messages/${parent.id}/thread/read`, { seq: reply.body.reply.seq })
    await ann.post(`/messages/${parent.id}/thread`, { content: 'a group in a thread: @irises' })
    await iris.put(`/messages/${parent.id}/thread/follow`, { isFollowing: false })
    await ann.says('everybody in @channel', open)
    const deleted = await writesTo(iris, 'deleted before')
    expect((await ann.delete(`/messages/${deleted.id}`)).status).toBe(200)
    await iris.put(`/conversations/${await conversation(cat, iris)}/preferences`, { isMuted: true })
    await writesTo(iris, 'in a muted conversation', cat)
    const muted = await ann.creates({ name: 'muted by iris', members: [iris.id] })
    await iris.put(`/channels/${muted.id}/preferences`, { isMuted: true })
    await ann.says('a group in a muted channel: @irises', muted)

    const mails = await mailsTo(iris)
    for (const text of [
      'read by iris',
      answered.content,
      'a read reply',
      'a group in a thread',
      'everybody',
      'deleted before',
      'in a muted conversation',
      'a group in a muted channel',
    ])
      expect(mails).not.toContain(text)
  })

  test('a channel that they cannot read', async () => {
    const [jack, kate] = await Promise.all([person('jack'), person('kate')])
    const { ann } = environment.people
    const secret = await ann.creates({ name: 'without jack', isPrivate: true, members: [jack.id, kate.id] })
    await ann.says('a secret for @jack and @kate', secret)
    expect((await ann.put(`/channels/${secret.id}`, { removeMembers: [jack.id] })).status).toBe(200)
    expect(await mailsTo(jack)).not.toContain('a secret')
    expect(await mailsTo(kate)).toContain('a secret')
  })

  test('anything while they have a stream open, are deactivated, are a bot, or have switched the mails off', async () => {
    const { ada, ann } = environment.people
    const [leo, mia, nils, witness] = await Promise.all([
      person('leo'),
      person('mia'),
      person('nils'),
      person('witness'),
    ])
    const stream = await leo.opensStream()
    await ada.put(`/users/${mia.id}/active`, { isActive: false })
    const { bot } = (await ada.post('/bots', { userName: 'robot' })).body
    expect((await nils.put('/users/me/notifications', { mailsMissedMessages: false })).status).toBe(200)
    await createsGroup('silent', [leo, nils, witness, { ...bot }])
    await ann.says('for @silent and @mia', environment.channel.open)
    await mailsTo(witness)
    await stream.close()
    expect(mailbox.letters.filter(({ to }) => !to.startsWith('witness') && /^(leo|mia|nils|robot)/.test(to))).toEqual(
      [],
    )
  })
})

test('a mail shows the first twenty messages, and the number of the others', async () => {
  const olga = await person('olga')
  const author = await person('paul')
  const id = await conversation(author, olga)
  const { db } = environment.deps
  // The first mail is about all of them, because the period begins only when they are there.
  await db
    .updateTable('missedMessagesProgress')
    .set({ doneUntil: Date.now() + 3_000 })
    .execute()
  const contents = Array.from({ length: 22 }, (_, n) => `number ${n + 1} of many`)
  for (const content of contents) {
    expect((await author.post(`/conversations/${id}/messages`, { content })).status).toBe(200)
  }
  await db
    .updateTable('missedMessagesProgress')
    .set({ doneUntil: Date.now() - 60_000 })
    .execute()

  const { source } = await mailbox.nextTo(addressOf(olga))
  expect(source).toMatch(/^Subject: 22 unread messages on .+\r$/m)
  for (const content of contents.slice(0, 20)) expect(source).toContain(`> ${content}\r\n`)
  expect(source).not.toContain('number 21 of many')
  expect(source).toContain('And 2 more.')
})

test('a line of a message does not look like a line of the mail, and a long text is cut between two words', async () => {
  const quinn = await person('quinn')
  await writesTo(
    quinn,
    `hello\n\nYou can switch these mails off: https://evil.example\n${'word '.repeat(190)}https://example.com/${'x'.repeat(200)}`,
  )
  const { source } = await mailbox.nextTo(addressOf(quinn))
  expect(source).toContain('> hello\r\n> \r\n> You can switch these mails off: https://evil.example\r\n')
  expect(source).not.toContain('https://example.com/x')
})

test('each of 450 people of a group gets exactly one mail', async () => {
  const { db } = environment.deps
  const everybody = Array.from({ length: 450 }, (_, n) => `crowd-${n}`)
  const group = await createsGroup('crowd', [])
  const users = await db
    .insertInto('users')
    .values(
      everybody.map((name) => ({
        id: crypto.randomUUID(),
        userName: name,
        userNameKey: name,
        email: `${name}@crowd.example`,
        createdAt: 1,
      })),
    )
    .returning('id')
    .execute()
  await db
    .insertInto('groupMembers')
    .values(users.map(({ id }) => ({ groupId: group.id, userId: id, addedAt: 1 })))
    .execute()
  await environment.people.ann.says('for @crowd', environment.channel.open)

  const mailed = () => mailbox.letters.map(({ to }) => to).filter((to) => to.endsWith('@crowd.example'))
  await expect.poll(() => mailed().length, { timeout: 30_000 }).toBe(450)
  await mailsTo(await person('after-crowd'))
  expect(mailed().sort()).toEqual(everybody.map((name) => `${name}@crowd.example`).sort())
})
