import type { Message } from '@parley/contract'
import { tryDelayedNow } from '@parley/jobs/testing'
import { type Letter, openMailbox, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { afterAll, afterEach, describe, expect, test } from 'vitest'

const mailbox = await openMailbox()
afterAll(() => mailbox.close())
afterEach(() => {
  mailbox.isRefusing = false
})

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

const patience = { timeout: 20_000 }
/** The messages that `work` sends come in one mail, because their period begins only when they are there. */
async function inOnePeriod<T>(work: () => Promise<T>): Promise<T> {
  const setDoneUntil = (doneUntil: number) =>
    environment.deps.db.updateTable('missedMessagesProgress').set({ doneUntil }).execute()
  const begun = Date.now()
  await setDoneUntil(begun + 60_000)
  const result = await work()
  await setDoneUntil(begun)
  return result
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
    expect(source).toMatch(/^List-Unsubscribe: <http.+\/preferences>\r$/m)
    expect(source).toContain('> The *release* is <b>ready</b>: [here](https://example.com/release)\r\n')
    expect(source).toContain(
      '<p>The <b>release</b> is &lt;b&gt;ready&lt;/b&gt;: <a href="https://example.com/release">here</a> (<bdi>https://example.com/release</bdi>)</p>',
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
      `ann mentioned @finns in #${name}\r\n> for @finns\r\n`,
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

test('a mail is in the language of the person', async () => {
  const lena = await person('lena')
  expect((await lena.put('/users/me/notifications', { mailLanguage: 'de' })).status).toBe(200)
  await writesTo(lena, 'in whatever language')
  const { source } = await mailbox.nextTo(addressOf(lena))
  expect(source).toMatch(/^Subject: ann hat dir geschrieben \(.+\)\r$/m)
  expect(source).toContain('Hallo lena, du hast eine ungelesene Nachricht')
  expect(source).toContain('<html lang="de" dir="ltr">')
})

test('a mail shows the first twenty messages, and the number of the others', async () => {
  const olga = await person('olga')
  const author = await person('paul')
  const id = await conversation(author, olga)
  const contents = Array.from({ length: 22 }, (_, n) => `number ${n + 1} of many`)
  await inOnePeriod(async () => {
    for (const content of contents) {
      expect((await author.post(`/conversations/${id}/messages`, { content })).status).toBe(200)
    }
  })

  const { source } = await mailbox.nextTo(addressOf(olga))
  expect(source).toMatch(/^Subject: 22 unread messages on .+\r$/m)
  for (const content of contents.slice(0, 20)) expect(source).toContain(`> ${content}\r\n`)
  expect(source).not.toContain('number 21 of many')
  expect(source).toContain('And 2 more.')
})

describe('before the next attempt for a mail', () => {
  /** `change` comes after the first attempts, and before the next ones. */
  async function refuses(readers: Person[], change: () => Promise<unknown>) {
    mailbox.isRefusing = true
    await expect.poll(() => readers.every((each) => mailbox.refused.includes(addressOf(each))), patience).toBe(true)
    await change()
    mailbox.isRefusing = false
    await tryDelayedNow(environment.deps.config.redis, 'send-missed-messages', readers.length)
  }

  test('messages that were deleted or read, or whose channel they lost, are taken out, and an edited one shows its new text', async () => {
    const rita = await person('rita')
    const { ann, cat } = environment.people
    const secret = await ann.creates({ name: 'soon without rita', isPrivate: true, members: [rita.id] })
    const open = await ann.creates({ name: 'read by rita' })
    mailbox.isRefusing = true
    const [deleted, edited] = await inOnePeriod(async () => {
      await ann.says('a secret for @rita', secret)
      await ann.says('soon read by @rita', open)
      return [await writesTo(rita, 'soon deleted', ann), await writesTo(rita, 'before the edit', cat)] as const
    })
    await refuses([rita], async () => {
      await ann.put(`/channels/${secret.id}`, { removeMembers: [rita.id] })
      await rita.put(`/channels/${open.id}/read`, { seq: 1 })
      await ann.delete(`/messages/${deleted.id}`)
      await cat.put(`/messages/${edited.id}`, { content: 'after the edit' })
    })
    const { source } = await mailbox.nextTo(addressOf(rita))
    expect(source).toMatch(/^Subject: cat wrote to you \(.+\)\r$/m)
    expect(source).toContain('> after the edit\r\n')
    for (const text of ['secret', 'soon read', 'soon deleted', 'before the edit']) expect(source).not.toContain(text)
  })

  test('it is sent at the last one of all attempts that mails have', async () => {
    const wanda = await person('wanda')
    const { email, redis } = environment.deps.config
    mailbox.isRefusing = true
    await inOnePeriod(() => writesTo(wanda, 'for wanda'))
    const attempts = () => mailbox.refused.filter((to) => to === addressOf(wanda)).length
    for (let retry = 1; retry <= email.maxRetries; retry++) {
      await expect.poll(attempts, patience).toBe(retry)
      mailbox.isRefusing = retry < email.maxRetries
      await tryDelayedNow(redis, 'send-missed-messages', 1)
    }
    expect((await mailbox.nextTo(addressOf(wanda))).source).toContain('for wanda')
  })

  test('the mail is dropped when nothing is left, and its job has no text', async () => {
    const [sam, tess, ugo, vera] = await Promise.all([person('sam'), person('tess'), person('ugo'), person('vera')])
    const readers = [sam, tess, ugo, vera]
    const { db } = environment.deps
    mailbox.isRefusing = true
    const [toSam, , toUgo] = await inOnePeriod(async () =>
      Promise.all(readers.map((each) => writesTo(each, 'for some'))),
    )
    await refuses(readers, async () => {
      const jobs = await db.selectFrom('jobs').select('data').where('name', '=', 'send-missed-messages').execute()
      expect(jobs).toHaveLength(readers.length)
      expect(JSON.stringify(jobs)).not.toContain('for some')
      await sam.put(`/conversations/${toSam!.channelId}/read`, { seq: toSam!.seq })
      await tess.put('/users/me/notifications', { mailsMissedMessages: false })
      await environment.people.ann.delete(`/messages/${toUgo!.id}`)
    })
    expect((await mailbox.nextTo(addressOf(vera))).source).toContain('for some')
    await expect
      .poll(() => db.selectFrom('jobs').select('id').where('name', '=', 'send-missed-messages').execute(), patience)
      .toEqual([])
    expect(mailbox.letters.filter(({ to }) => /^(sam|tess|ugo)@/.test(to))).toEqual([])
  })
})

test('a line of a message does not look like a line of the mail, and a long text is cut between two words', async () => {
  const quinn = await person('quinn')
  await writesTo(
    quinn,
    `hello\r\n\nYou can switch\u2028these mails off: https://evil.example\n${'word '.repeat(190)}https://example.com/${'x'.repeat(200)}`,
  )
  const { source } = await mailbox.nextTo(addressOf(quinn))
  expect(source).toContain('> hello\r\n> \r\n> You can switch\r\n> these mails off: https://evil.example\r\n')
  expect(source).not.toContain('https://example.com/x')
})

test('each of 250 people of a group, more than one transaction looks at, gets exactly one mail', async () => {
  const { db } = environment.deps
  const everybody = Array.from({ length: 250 }, (_, n) => `crowd-${n}`)
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
  await expect.poll(() => mailed().length, { timeout: 30_000 }).toBe(250)
  await mailsTo(await person('after-crowd'))
  expect(mailed().sort()).toEqual(everybody.map((name) => `${name}@crowd.example`).sort())
})
