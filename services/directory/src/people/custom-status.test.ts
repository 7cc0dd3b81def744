import { limits } from '@parley/contract'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'

const environment = testEnvironment()
const shownTo = async (reader: Person, { id }: Person) =>
  (await reader.get(`/users?ids=${id}`)).body.users[0].customStatus

test('a custom status is shown to everybody until it is replaced or removed', async () => {
  const { ann, bob } = environment.people
  const events = environment.events.to(bob)
  expect(await shownTo(bob, ann)).toBeNull()

  const expiresAt = Date.now() + 3_600_000
  const first = { text: 'On holiday', emoji: '🌴', expiresAt }
  const set = await ann.put('/users/me/status', { ...first, text: '  On   holiday ' })
  expect(set).toMatchObject({ status: 200, body: { user: { id: ann.id, customStatus: first } } })
  expect(await shownTo(bob, ann)).toEqual(first)
  await events.toHave('UPDATE_USER', { id: ann.id, customStatus: first })

  // Absent fields are empty: nothing is left of the status before.
  await ann.put('/users/me/status', { emoji: '👩🏽‍🚀' })
  expect(await shownTo(bob, ann)).toEqual({ text: '', emoji: '👩🏽‍🚀', expiresAt: null })
  await ann.put('/users/me/status', { text: 'Back soon' })
  expect(await shownTo(bob, ann)).toEqual({ text: 'Back soon', emoji: null, expiresAt: null })

  for (const _ of [1, 2]) {
    expect(await ann.delete('/users/me/status')).toMatchObject({ status: 200, body: { user: { customStatus: null } } })
  }
  expect(await shownTo(bob, ann)).toBeNull()
})

test.each(['Room 10², back at 2½ …', '🏴󠁧󠁢󠁥󠁮󠁧󠁿 – 🏴󠁧󠁢󠁳󠁣󠁴󠁿 at 8, then 🏴󠁧󠁢󠁷󠁬󠁳󠁿'])('the text keeps its characters: %s', async (text) => {
  const { ann } = environment.people
  await ann.put('/users/me/status', { text })
  expect(await shownTo(ann, ann)).toMatchObject({ text })
  await ann.delete('/users/me/status')
})

test('the same status again sends no event', async () => {
  const { cat } = environment.people
  const written = () =>
    environment.deps.db
      .selectFrom('outbox')
      .select(({ fn }) => fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
  await cat.put('/users/me/status', { text: 'Busy' })
  const before = await written()
  await cat.put('/users/me/status', { text: 'Busy' })
  expect(await written()).toEqual(before)
})

test('other changes of a person keep the status', async () => {
  const { cat, bob } = environment.people
  const { customStatus } = (await cat.put('/users/me/status', { text: 'Busy' })).body.user
  const { body } = await cat.put('/users/me', { title: 'Pilot' })
  expect(body.user).toMatchObject({ title: 'Pilot', customStatus })
  await environment.events.to(bob).toHave('UPDATE_USER', { id: cat.id, title: 'Pilot', customStatus })
})

test('a person who leaves the server leaves no status', async () => {
  const eve = await Person.signIn(environment.baseUrl, 'eve@example.com')
  await eve.put('/users/me/status', { text: 'Leaving', emoji: '👋', expiresAt: Date.now() + 3_600_000 })
  expect(await eve.post('/users/exit')).toMatchObject({ status: 200 })
  const stored = environment.deps.db.selectFrom('users').selectAll().where('id', '=', eve.id)
  const none = { statusText: null, statusEmoji: null, statusExpiresAt: null }
  expect(await stored.executeTakeFirst()).toMatchObject(none)
})

test.each(['🌴', '❤', '❤️', '👍🏿', '👩🏽‍🚀', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', '🇩🇪', '1️⃣', '🏳️‍🌈', '👨‍👩‍👧‍👦', '©️', '🏿'])(
  'the emoji %s is accepted',
  async (emoji) => {
    expect(await environment.people.bob.put('/users/me/status', { emoji })).toMatchObject({
      status: 200,
      body: { user: { customStatus: { emoji } } },
    })
  },
)

test.each([
  ['nothing', {}],
  ['a blank text', { text: ' \t', emoji: null }],
  ['a long text', { text: 'x'.repeat(limits.statusText + 1) }],
  ['hidden characters', { text: 'turned \u202e around' }],
  ['a hidden text', { text: 'Out \u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}' }],
  ['a flag with a hidden text', { text: '🏴\u{e0068}\u{e0069}\u{e007f}' }],
  ['a control character', { text: 'two\nlines' }],
  ['a number as the text', { text: 7 }],
  ['a letter', { emoji: 'x' }],
  ['a digit', { emoji: '7' }],
  ['an empty emoji', { emoji: '' }],
  ['half an emoji', { emoji: '\ud83c' }],
  ['a half flag', { emoji: '🇩' }],
  ['two emoji', { emoji: '🌴🌴' }],
  ['an emoji and spaces', { emoji: ' 🌴 ' }],
  ['an emoji with many accents', { emoji: `🌴${'\u0301'.repeat(12)}` }],
  ['an emoji of many skin tones', { emoji: `👍${'🏿'.repeat(12)}` }],
  ['the frame of a keycap', { emoji: '\u20e3' }],
  ['an emoji in the frame of a keycap', { emoji: '🌴\u20e3' }],
  ['an emoji with a joiner at its end', { emoji: '🌴\u200d' }],
  ['an emoji with a hidden text', { emoji: `🌴\u{e0068}\u{e0069}\u{e007f}` }],
  ['eight emoji that are joined', { emoji: Array(8).fill('🌴').join('\u200d') }],
  ['two skin tones', { emoji: '🏿🏿' }],
  ['an endless family', { emoji: '👨‍👩‍👧‍👦‍👨‍👩‍👧‍👦‍👨‍👩‍👧‍👦' }],
  ['a time in the past', { text: 'Out', expiresAt: 1 }],
  ['a time that is no integer', { text: 'Out', expiresAt: Date.now() + 1_000.5 }],
  ['a time beyond all dates', { text: 'Out', expiresAt: limits.expiresAt + 1 }],
])('%s is refused with a sentence', async (_, body) => {
  const { ann } = environment.people
  const refused = { status: 400, body: { error: expect.any(String) } }
  expect(await ann.put('/users/me/status', body)).toMatchObject(refused)
  expect(await shownTo(ann, ann)).toBeNull()
})

test('nobody sets a status without a sign-in', async () => {
  const nobody = Person.nobody(environment.baseUrl)
  expect(await nobody.put('/users/me/status', { text: 'x' })).toMatchObject({ status: 401 })
  expect(await nobody.delete('/users/me/status')).toMatchObject({ status: 401 })
})
