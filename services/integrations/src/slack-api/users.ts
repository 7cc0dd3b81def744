import { limits, type User } from '@parley/contract'
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

/** A person whom the caller may see. @throws ProtocolRefusal `user_not_found`. */
export async function findUser({ ask }: SlackCall, id: string): Promise<User> {
  if (!isRowId(id)) throw slackRefusal('user_not_found')
  const path = `/users?ids=${id}`
  const { users }: { users: User[] } = await ask({ service: 'directory', method: 'GET', path })
  if (!users[0]) throw slackRefusal('user_not_found')
  return users[0]
}
