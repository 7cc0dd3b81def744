import { canSee } from '@parley/access'
import { nameKey } from '@parley/accounts'
import { firstCharacters, groupMention, limits } from '@parley/contract'
import { anyOf, isRowId, type Reader } from '@parley/database'
import { endOfName, nameForm } from '@parley/markup'
import { limitMarks } from '@parley/search'
import { sql } from 'kysely'

/**
 * The mentions in a text: ids of people, `group:<id>`, `@channel`, `@here`, in the order of the text, each once, at
 * most 50. When two names match at the same place, the longer one counts. A guest mentions only the people whom they
 * see. Other names stay plain text, so that a guest cannot find out who is a user of the server. `authorId` is null for
 * a webhook. Served by the unique indexes users_live_name and groups_live_handle.
 */
export async function findMentions(db: Reader, content: string, authorId: string | null): Promise<string[]> {
  if (!mayMention(content)) return []
  const mentioned = candidatesOfMentions(content)
  if (mentioned.length === 0) return []

  const found = await findNames(db, [...new Set(mentioned.flat())])
  const mentions = new Set<string>()
  for (const candidates of mentioned) {
    const name = candidates.find((candidate) => found.has(candidate))
    if (name !== undefined) mentions.add(found.get(name)!)
    if (mentions.size === limits.mentions) break
  }
  const all = [...mentions]
  if (all.length === 0 || authorId === null || !(await isGuest(db, authorId))) return all
  const seen = await findSeen(db, authorId, all)
  return all.filter((mentioned) => seen.has(mentioned))
}

const isGuest = async (db: Reader, userId: string): Promise<boolean> => {
  const user = await db.selectFrom('users').select('role').where('id', '=', userId).executeTakeFirst()
  return user?.role === 'guest'
}

/** The ids of those mentioned people whom the guest sees. */
async function findSeen(db: Reader, guestId: string, mentions: string[]): Promise<Set<string>> {
  const people = await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', anyOf(mentions.filter(isRowId)))
    .where(canSee(sql.ref('users.id'), { userId: guestId, role: 'guest' }))
    .execute()
  return new Set(people.map(({ id }) => id))
}

/** Whether the text has an `@` at all. NFKC turns the full-width and the small at sign into `@`. */
const mayMention = (content: string): boolean => /[@\uff20\ufe6b]/.test(content)

/**
 * For each `@` that begins a name, the keys of the possible names, longest first. A name may contain spaces, and
 * punctuation at its end may belong to the sentence, as may an apostrophe and what follows it.
 */
export function candidatesOfMentions(content: string): string[][] {
  const mentioned: string[][] = []
  for (const [, text] of limitMarks(content).normalize('NFKC').matchAll(mention)) {
    mentioned.push(candidatesOf(text!))
    if (mentioned.length === maxMentioned) break
  }
  return mentioned
}

function candidatesOf(text: string): string[] {
  const longest = firstCharacters(text, limits.userName + 1)
  const names = Array.from(longest.matchAll(endOfName), ({ index }) => nameKey(longest.slice(0, index)))
  return [...new Set(names.reverse())].filter((name) => name !== '')
}

async function findNames(db: Reader, keys: string[]): Promise<Map<string, string>> {
  const people = await db
    .selectFrom('users')
    .select(['id', 'userNameKey'])
    .where('userNameKey', 'in', keys)
    .where('removedAt', 'is', null)
    .execute()
  const groups = await db
    .selectFrom('groups')
    .select(['id', 'handleKey'])
    .where('handleKey', 'in', keys)
    .where('deletedAt', 'is', null)
    .execute()
  const everybody = [
    ['channel', '@channel'],
    ['here', '@here'],
  ] as const
  return new Map([
    ...people.map(({ id, userNameKey }) => [userNameKey, id] as const),
    ...groups.map(({ id, handleKey }) => [handleKey, groupMention(id)] as const),
    ...everybody,
  ])
}

const mention = new RegExp(String.raw`(?<=^|[\s\p{Ps}])@(${nameForm})`, 'gu')
/** A text that consists of `@` characters must not become a query of thousands of names. */
const maxMentioned = 100
