import { nameKey } from '@parley/accounts'
import { firstCharacters, limits } from '@parley/contract'
import type { Reader } from '@parley/database'
import { limitMarks } from '@parley/search'

/**
 * Whom a text mentions: ids of people, `@channel`, `@here`, in the order of the text, each once, at most 50. Where one
 * name begins with another the longer one is meant. Served by the unique index users_live_name.
 */
export async function findMentions(db: Reader, content: string): Promise<string[]> {
  if (!mayMention(content)) return []
  const places = mentionPlaces(content)
  if (places.length === 0) return []

  const found = await findNames(db, [...new Set(places.flat())])
  const mentions = new Set<string>()
  for (const candidates of places) {
    const name = candidates.find((candidate) => found.has(candidate))
    if (name !== undefined) mentions.add(found.get(name)!)
    if (mentions.size === limits.mentions) break
  }
  return [...mentions]
}

/** Whether it is worth to look for mentions. NFKC makes one character of the narrow, the wide and the small `@`. */
const mayMention = (content: string): boolean => /[@\uff20\ufe6b]/.test(content)

/**
 * For each `@` that begins a name, the keys of the names that may be meant, longest first: a full name goes on over
 * spaces, and punctuation at the end may belong to the sentence.
 */
export function mentionPlaces(content: string): string[][] {
  const places: string[][] = []
  for (const [, text] of limitMarks(content).normalize('NFKC').matchAll(place)) {
    places.push(candidatesOf(text!))
    if (places.length === mostPlaces) break
  }
  return places
}

function candidatesOf(text: string): string[] {
  const words = firstCharacters(text, limits.userName + 1).split(' ')
  const candidates = new Set<string>()
  for (let count = words.length; count > 0; count--) {
    let name = words.slice(0, count).join(' ')
    candidates.add(nameKey(name))
    for (; endsInPunctuation.test(name); candidates.add(nameKey(name))) name = name.slice(0, -1)
  }
  candidates.delete('')
  return [...candidates]
}

async function findNames(db: Reader, keys: string[]): Promise<Map<string, string>> {
  const people = await db
    .selectFrom('users')
    .select(['id', 'userNameKey'])
    .where('userNameKey', 'in', keys)
    .where('removedAt', 'is', null)
    .execute()
  const everybody = [
    ['channel', '@channel'],
    ['here', '@here'],
  ] as const
  return new Map([...people.map(({ id, userNameKey }) => [userNameKey, id] as const), ...everybody])
}

const place = /(?<=^|[\s\p{Ps}])@([\p{L}\p{M}\p{N}_.-]+(?: [\p{L}\p{M}\p{N}_.-]+)*)/gu
const endsInPunctuation = /[_.-]$/
/** A text of nothing but `@` must not become a query of thousands of names. */
const mostPlaces = 100
