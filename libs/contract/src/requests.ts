import { Type } from 'typebox'
import { limits } from './limits.ts'

export const Ok = Type.Object({ success: Type.Literal(true) })

/** Of a POST that creates something: repeated with the same key, it is carried out once. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKey,
      pattern: '^[ -~\\u00a1-\\u00ff]+$',
      description:
        'Any text that is new for each thing to be created: within 24 hours a repeated request gets the first answer again',
    }),
  ),
})

/** Items of a page, where neither the request nor the listing says otherwise. */
export const usualPageSize = 50

/** What a listing takes that is whole without any of it. */
export const ListingQuery = (most: number) =>
  Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `A page of so many, ${most} at most; the whole listing without it` }),
    ),
    after: Type.Optional(
      Type.String({ description: `Id of the last item of the page before; without limit the next ${usualPageSize}` }),
    ),
  })

export const HasMore = Type.Boolean({ description: 'Whether there is another page; false for the whole listing' })

/** `limit` of a listing: an integer of at least 1; more than the largest page is treated as the largest page. */
export const PageLimit = (byDefault: number = usualPageSize) => Type.Integer({ minimum: 1, default: byDefault })
