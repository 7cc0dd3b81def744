import { invalid, limits, PageLimit } from '@parley/contract'
import { foldText } from '@parley/search'
import { type Static, Type } from 'typebox'

const Moment = (description: string) =>
  Type.Optional(Type.Integer({ minimum: -(2 ** 53), maximum: 2 ** 53, description }))

export const SearchQuery = Type.Object({
  q: Type.String({
    maxLength: limits.search,
    description: 'A part of the content, of the author’s name or of the name of an attached file',
  }),
  channelId: Type.Optional(Type.String({ description: 'Only in this channel' })),
  conversationId: Type.Optional(Type.String({ description: 'Only in this conversation' })),
  authorId: Type.Optional(Type.String({ description: 'Only by this person, or by a webhook (`webhook:<id>`)' })),
  from: Moment('Epoch milliseconds: nothing older'),
  to: Moment('Epoch milliseconds: nothing newer'),
  before: Type.Optional(Type.String({ description: 'Id of a message: only what comes after it in this order' })),
  limit: PageLimit(),
})
export type SearchQuery = Static<typeof SearchQuery>

/** Where a search goes on: newest first, and by id where two were written in the same millisecond. */
export interface Cursor {
  createdAt: number
  id: string
}

/** What is searched for, with row ids. */
export interface Wanted {
  /** As it was asked for, trimmed. */
  text: string
  folded: string
  /** Of these channels or conversations; undefined for all that the caller may read. */
  channelId: string | undefined
  /** A person or a webhook; undefined for all. */
  authorId: string | undefined
  from: number
  to: number
  before: Cursor | undefined
  limit: number
}

/** @throws ApiError 400 when nothing is asked for. */
export function readText(q: string): Pick<Wanted, 'text' | 'folded'> {
  const text = q.trim()
  if (text === '') throw invalid('q must not be empty')
  if (text.includes('\0')) throw invalid('q must not contain the character U+0000')
  return { text, folded: foldText(text) }
}

export const pageSize = (limit: number) => Math.min(limit, limits.pageSize)
