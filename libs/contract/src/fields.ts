import { type Static, type TSchema, Type } from 'typebox'
import { limits } from './limits.ts'

/** Epoch milliseconds. */
export const Timestamp = Type.Integer({ description: 'Epoch milliseconds', examples: [1_790_000_000_000] })

export const Id = Type.String({ description: 'Opaque identifier', maxLength: 200 })

/** `T` or null, as one JSON Schema with two types: serializers handle it without trying alternatives. */
export const Nullable = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })

/**
 * A name in a request. `readName` checks its length and not the schema, because the length counts in the form in which
 * the name is stored: a text in NFD has more characters than the same text in NFKC.
 */
export const NameText = (longest: number, { description = '', minLength = 1 } = {}) =>
  Type.String({
    minLength,
    description: `${description && `${description}. `}At most ${longest} characters, counted in NFKC and without white space at both ends`,
  })

export const Ok = Type.Object({ success: Type.Literal(true) })

/** Headers of a POST that creates something. A request that is repeated with the same key is carried out once. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKey,
      pattern: '^[ -~\\u00a1-\\u00ff]+$',
      description:
        'Any text that is unique for each thing to create. A request that is repeated within 24 hours gets the first response again',
    }),
  ),
})

/** The number of items on a page, unless the request or the listing sets another. */
export const usualPageSize = 50

/** The query of a listing that is returned whole when the request has neither `limit` nor `after`. */
export const ListingQuery = (most: number) =>
  Type.Object({
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `Items on the page, ${most} at most. Without it the whole listing is returned`,
      }),
    ),
    after: Type.Optional(
      Type.String({
        description: `Id of the last item of the previous page. Without limit the page has ${usualPageSize} items`,
      }),
    ),
  })

/** The order of a listing. A page by id is the same whatever names change before it. */
export const ListingOrder = Type.Optional(
  Type.Enum(['name', 'id'], {
    description:
      '`id`: by id, so that pages miss and repeat nothing when names change between them. Has no effect on a search',
  }),
)

export const HasMore = Type.Boolean({ description: 'Whether there is another page; false for the whole listing' })

/** `limit` of a listing: an integer of at least 1. A larger number than the largest page means the largest page. */
export const PageLimit = (byDefault: number = usualPageSize) => Type.Integer({ minimum: 1, default: byDefault })
