import { isBlank, type Message } from '@parley/contract'
import { testEnvironment } from '@parley/test/test-environment'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const environment = testEnvironment()

/** Texts with a meaning in SQL literals, in JSON, between texts of a batch, or in server-sent events. */
const awkward = [
  ...[
    '"',
    '\\',
    '\\"',
    "'",
    '{',
    '}',
    ',',
    'NULL',
    '{}',
    '\t',
    '\n',
    '\r\n',
    '\u001e',
    '\\u001e',
    '\b',
    '\u007f',
    '\u0085',
  ],
  ...[
    '\u2028',
    '\u2029',
    '\ufeff',
    '\ud800',
    '\udc00',
    '😀',
    '👩‍👩‍👧',
    '\u202e',
    '@',
    '@channel',
    ' ',
    '\\n',
    '\\u0041',
    '$1',
    '%',
  ],
]
const text = (maxLength: number) =>
  fc
    .array(fc.oneof(fc.constantFrom(...awkward), fc.string({ unit: 'binary', maxLength: 4 })), {
      minLength: 1,
      maxLength,
    })
    .map((parts) => parts.join('').replaceAll('\0', ''))
const content = text(20).filter((each) => !isBlank(each))
const key = fc.string({
  unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 40,
})

test('the response, the event, the listing and the repeated response have the same text', async () => {
  const { ann, bob } = environment.people
  const stream = await bob.opensStream()
  const path = `/channels/${environment.channel.open.id}/messages`
  const listed = async (count: number): Promise<Message[]> => (await bob.get(`${path}?limit=${count}`)).body.messages
  const rename = fc.option(text(4), { nil: undefined, freq: 2 })

  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(content, key), { minLength: 1, maxLength: 5 }),
      rename,
      content,
      text(3),
      async (said, userName, edit, reaction) => {
        // A name that is refused changes nothing.
        if (userName !== undefined) await ann.put('/users/me', { userName })
        const unique = crypto.randomUUID()
        const send = () =>
          Promise.all(
            said.map(([content, key], n) => ann.post(path, { content }, { 'idempotency-key': `${unique}${n}${key}` })),
          )
        const responses = await send()
        expect(responses.map(({ status, body }) => [status, body.message?.content])).toEqual(
          said.map(([content]) => [200, content.toWellFormed()]),
        )
        const messages: Message[] = responses.map(({ body }) => body.message)
        for (const message of messages)
          expect((await stream.waitFor('NEW_MESSAGE', { id: message.id })).payload).toEqual(message)
        expect(await listed(said.length)).toEqual(messages.toSorted((a, b) => a.seq - b.seq))
        expect((await send()).map(({ body }) => body.message)).toEqual(messages)

        const last = messages.toSorted((a, b) => b.seq - a.seq)[0]!
        const edited = await ann.put(`/messages/${last.id}`, { content: edit })
        expect(edited.body.message).toMatchObject({ content: edit.toWellFormed(), rev: 2 })
        expect((await stream.waitFor('UPDATE_MESSAGE', { id: last.id })).payload).toEqual(edited.body.message)
        expect(await listed(1)).toEqual([edited.body.message])

        const reacted = await bob.post(`/messages/${last.id}/reactions`, { reaction })
        if (reacted.status === 400) return
        const held = reaction.trim().toWellFormed()
        expect(reacted.body.message.reactions).toEqual({ [held]: [bob.id] })
        expect((await stream.waitFor('NEW_REACTION', { messageId: last.id })).payload.reaction).toBe(held)
        expect(await listed(1)).toEqual([reacted.body.message])
      },
    ),
    { numRuns: 60 },
  )
  await stream.close()
}, 120_000)

test.each(['__proto__', 'constructor', 'toString', '1'])('the reaction %s is like any other', async (reaction) => {
  const { ann } = environment.people
  const { id } = await ann.says('react', environment.channel.open)
  const { body } = await ann.post(`/messages/${id}/reactions`, { reaction })
  expect(Object.entries(body.message.reactions)).toEqual([[reaction, [ann.id]]])
  await environment.events.to(ann).toHave('NEW_REACTION', { messageId: id, reaction })
})

test.each(['"__proto__":{"a":1}', '"constructor":{"prototype":{"a":1}}', '"attachments":[],"\\u005f_proto__":null'])(
  'unknown fields are ignored: %s',
  async (field) => {
    const { ann } = environment.people
    const path = `/channels/${environment.channel.open.id}/messages`
    expect(await ann.post(path, `{"content":"x",${field}}`)).toMatchObject({
      status: 200,
      body: { message: { content: 'x' } },
    })
    const name = `plan ${crypto.randomUUID()}`
    expect(await ann.post('/channels', `{"name":"${name}",${field}}`)).toMatchObject({ status: 200 })
  },
)

test.each(['x', '"', '\\', '\u0001\u0001\u0001.', '\u2028.', '😀', '\ud800'])(
  '16,000 characters may be only %j',
  async (part) => {
    const { ann } = environment.people
    const message = await ann.says(part.repeat(16_000 / [...part].length), environment.channel.open)
    expect(message.content).toBe(part.repeat(16_000 / [...part].length).toWellFormed())
    await environment.events.to(ann).toHave('NEW_MESSAGE', message)
  },
)
