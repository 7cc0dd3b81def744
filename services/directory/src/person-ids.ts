import { invalid } from '@parley/contract'
import { Type } from 'typebox'

const maxIds = 200

/** The parameter `ids` of a listing of people. */
export const PersonIds = Type.Optional(
  Type.String({
    description: `Only the people with these ids, at most ${maxIds}, separated by commas. Unknown ids are left out`,
  }),
)

/** The ids in such a parameter. @throws ApiError 400 when there are too many. */
export function readPersonIds(text: string): string[] {
  const ids = text.split(',')
  if (ids.length > maxIds) throw invalid(`ids may have at most ${maxIds} ids`)
  return ids
}
