import { type Static, type TSchema, Type } from 'typebox'

/** Epoch milliseconds. */
export const Timestamp = Type.Integer({ description: 'Epoch milliseconds', examples: [1_790_000_000_000] })

export const Id = Type.String({ description: 'Opaque identifier', maxLength: 200 })

/** `T` or null, as one JSON Schema with two types: serializers handle it without trying alternatives. */
export const Nullable = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })
