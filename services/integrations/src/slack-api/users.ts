import { limits, type Presence, type User } from '@parley/contract'
import { isRowId } from '@parley/database'
import { slackRefusal } from '@parley/service'
import { asSlackUser } from '../slack-objects/slack-objects.ts'
import { numberOf, readCursor, type SlackCall, textOf, writeCursor } from './slack-call.ts'

/** `users.list`. Without `limit` Slack returns all people, so the page is as large as possible. */
export async function listUsers({ ask, args }: SlackCall) {
  const after = readCursor(args)
  const query = new URLSearchParams({
    order: 'id',
    limit: String(numberOf(args, 'limit', { fallback: limits.peoplePageSize, most: limits.peoplePageSize })),
    ...(after !== undefined && { after }),
  })
  const { users, hasMore } = await ask(
    { service: 'directory', method: 'GET', path: `/users?${query}` },
    { 400: 'invalid_cursor' },
  )
  return { members: users.map(asSlackUser), ...writeCursor(hasMore ? users.at(-1)?.id : undefined) }
}

/** `users.info` */
export const userInfo = async (call: SlackCall) => ({
  user: asSlackUser(await findUser(call, textOf(call.args, 'user', 'user_not_found'))),
})

/** `users.lookupByEmail` */
export async function lookUpByEmail({ ask, args }: SlackCall) {
  const email = textOf(args, 'email', 'users_not_found').toLowerCase()
  const query = new URLSearchParams({ q: email.slice(0, limits.email), limit: '200' })
  const { users }: { users: User[] } = await ask({ service: 'directory', method: 'GET', path: `/users?${query}` })
  const user = users.find((each) => each.email.toLowerCase() === email)
  if (!user) throw slackRefusal('users_not_found')
  return { user: asSlackUser(user) }
}

/** `users.getPresence`. Guests get only their own. */
export async function getPresence(call: SlackCall) {
  const { id } = await findUser(call, textOf(call.args, 'user') || call.caller.userId)
  const path = `/presence?ids=${id}`
  const listed: { presence: Presence[] } = await call.ask({ service: 'directory', method: 'GET', path })
  const found = listed.presence.find(({ userId }) => userId === id)
  if (!found) throw slackRefusal('user_is_restricted', 'Guests see only their own presence')
  return { presence: found.status === 'online' ? 'active' : 'away' }
}

/** A person whom the caller may see. @throws ProtocolRefusal with the code `missing`. */
export async function findUser(call: SlackCall, id: string, missing = 'user_not_found'): Promise<User> {
  const user = (await findUsers(call, [id])).get(id)
  if (!user) throw slackRefusal(missing)
  return user
}

/** The people with these ids whom the caller may see, by id. */
export async function findUsers({ ask }: SlackCall, ids: readonly string[]): Promise<Map<string, User>> {
  const known = ids.filter(isRowId)
  const found = new Map<string, User>()
  for (let start = 0; start < known.length; start += limits.pageSize) {
    const path = `/users?ids=${known.slice(start, start + limits.pageSize).join(',')}`
    const { users }: { users: User[] } = await ask({ service: 'directory', method: 'GET', path })
    for (const user of users) found.set(user.id, user)
  }
  return found
}
