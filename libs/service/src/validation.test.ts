import { type TSchema, Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { compileValidator } from './validation.ts'

type Part = 'body' | 'querystring' | 'headers' | 'params'

/** The value that a handler gets, or the sentence of the refusal. */
function judged(schema: TSchema, value: unknown, httpPart: Part = 'body'): unknown {
  const validate = compileValidator({ schema, httpPart, method: 'POST', url: '/things' })
  const judgement = validate(value) as { value?: unknown; error?: Error }
  return judgement.error ? judgement.error.message : judgement.value
}

describe('null', () => {
  const Body = Type.Object({
    name: Type.String(),
    topic: Type.Optional(Type.String()),
    people: Type.Optional(Type.Array(Type.Object({ id: Type.String(), nick: Type.Optional(Type.String()) }))),
  })

  test('in an optional field counts as absent, however deep', () => {
    const body = { name: 'x', topic: null, people: [{ id: 'a', nick: null }] }
    expect(judged(Body, body)).toEqual({ name: 'x', people: [{ id: 'a' }] })
  })

  test.each([
    [{ name: null }, 'name must be text'],
    [{ name: 'x', people: [null] }, 'people[0] must be a JSON object'],
    [{ name: 'x', people: [{ id: null }] }, 'people[0].id must be text'],
    [null, 'The body must be a JSON object'],
  ])('in %j is refused', (body, sentence) => {
    expect(judged(Body, body)).toBe(sentence)
  })
})

describe('a whole number in the query', () => {
  const Query = Type.Object({
    limit: Type.Integer({ minimum: 1, default: 50 }),
    from: Type.Optional(Type.Integer({ minimum: -5 })),
  })

  test.each([
    [{}, { limit: 50 }],
    [{ limit: '7' }, { limit: 7 }],
    [
      { limit: '007', from: '-5' },
      { limit: 7, from: -5 },
    ],
    [{ limit: '0' }, 'limit must be at least 1'],
    [{ limit: '-1' }, 'limit must be at least 1'],
    [{ from: '-6' }, 'from must be at least -5'],
    [{ limit: ['5', '6'] }, 'limit must be given only once'],
  ])('%j', (query, expected) => {
    expect(judged(Query, query, 'querystring')).toEqual(expected)
  })

  test.each(['+5', '5.0', '0x5', ' 5', '5 ', '1e1', '', '-0', 'null', '9'.repeat(400)])('is not %j', (limit) => {
    expect(judged(Query, { limit }, 'querystring')).toBe('limit must be a whole number, written in digits')
  })
})

test.each<[TSchema, unknown, string]>([
  [Type.String({ minLength: 1 }), '', 'field must not be empty'],
  [Type.String({ minLength: 8 }), 'short', 'field is shorter than 8 characters'],
  [Type.String({ maxLength: 2 }), '👍👍👍', 'field is longer than 2 characters'],
  [Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'field has more than 1 entries'],
  [Type.Array(Type.String()), 'a', 'field must be a list'],
  [Type.Array(Type.String()), ['a', 1], 'field[1] must be text'],
  [Type.Boolean(), 'yes', 'field must be true or false'],
  [Type.Integer(), 1.5, 'field must be a whole number'],
  [Type.Enum(['user', 'admin']), 'owner', 'field must be one of user, admin'],
  [Type.Object({ id: Type.String() }), {}, 'field.id is missing'],
])('a refusal names the field and says what is expected: %# %j %j', (schema, value, sentence) => {
  expect(judged(Type.Object({ field: schema }), { field: value })).toBe(sentence)
})

test('the refusal of a header names it as a header', () => {
  const Headers = Type.Object({ 'idempotency-key': Type.String({ maxLength: 3 }) })
  expect(judged(Headers, { 'idempotency-key': 'long' }, 'headers')).toBe(
    'The header Idempotency-Key is longer than 3 characters',
  )
})
