import { audienceOfPerson, kindsReadWithoutJoining } from '@parley/access'
import { type Bot, limits, notFound } from '@parley/contract'
import {
  audit,
  isRowId,
  nameSkeleton,
  type Reader,
  record,
  type Transaction,
  type UserFields,
  userFields,
  userView,
  uuidv7,
} from '@parley/database'
import { startReadingAll } from '@parley/read-states'
import { nameKey, readName, readUserName } from './names.ts'
import { removeUser } from './removal.ts'
import { lockAsAdmin } from './roles.ts'
import { claimName } from './taken-names.ts'
import type { RequestContext } from './users.ts'

interface NewBot {
  userName: string
  displayName?: string
}

/**
 * Creates a bot, and records NEW_USER and an audit entry. A bot is a user without a password that acts with API tokens.
 * It joins no channel by itself. Its e-mail address is in a domain that does not exist, so nobody can prove that the
 * address is theirs.
 * @throws ApiError 400 when a name is refused or taken, 401 and 403 as `lockAsAdmin`.
 */
export async function createBot(trx: Transaction, input: NewBot, context: RequestContext): Promise<Bot> {
  const { caller, ip, now } = context
  const userName = readUserName(input.userName)
  const displayName = input.displayName?.trim() ? readName(input.displayName, 'displayName', limits.displayName) : null
  await lockAsAdmin(trx, context)
  const id = uuidv7()
  await claimName(trx, userName, id)
  const bot = await trx
    .insertInto('users')
    .values({
      id,
      userName,
      userNameKey: nameKey(userName),
      userNameSkeleton: nameSkeleton(userName),
      email: `${id}@bot.invalid`,
      isBot: true,
      autoJoined: true,
      displayName,
      createdAt: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await startReadingAll(trx, { userId: id, kinds: kindsReadWithoutJoining(bot.role) })
  await record(trx, { type: 'NEW_USER', payload: userView(bot), routing: await audienceOfPerson(trx, id) })
  await audit(trx, {
    action: 'bot.create',
    actorId: caller.userId,
    targetType: 'user',
    targetId: id,
    metadata: { userName },
    ip,
  })
  return { ...userView(bot), interactivityUrl: null }
}

const selectBots = (db: Reader) =>
  db
    .selectFrom('users')
    .select(userFields)
    .select(({ selectFrom }) =>
      selectFrom('apps').select('interactivityUrl').whereRef('apps.botId', '=', 'users.id').as('interactivityUrl'),
    )
    .where('isBot', '=', true)
    .where('removedAt', 'is', null)

const botView = ({ interactivityUrl, ...user }: UserFields & { interactivityUrl: string | null }): Bot => ({
  ...userView(user),
  interactivityUrl,
})

/** The live bots, by name. */
export const listBots = async (db: Reader): Promise<Bot[]> =>
  (await selectBots(db).orderBy('userNameKey').execute()).map(botView)

/** A bot that exists. */
export const findBot = async (db: Reader, botId: string): Promise<Bot> =>
  botView(await selectBots(db).where('id', '=', botId).executeTakeFirstOrThrow())

/** Whether there is such a bot. */
export const isBot = async (db: Reader, botId: string): Promise<boolean> =>
  isRowId(botId) &&
  (await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', botId)
    .where('isBot', '=', true)
    .where('removedAt', 'is', null)
    .executeTakeFirst()) !== undefined

/**
 * Removes a bot and records REMOVE_USER. Its tokens, streams and memberships end with the commit. Its messages stay.
 * @throws ApiError 404 when there is no such bot, 401 and 403 as `lockAsAdmin`.
 */
export async function deleteBot(trx: Transaction, botId: string, context: RequestContext): Promise<void> {
  await lockBot(trx, botId, context)
  await removeUser(trx, botId, context)
}

/** Locks a live bot for an admin until the transaction ends. @throws ApiError 404 when there is none, 401 and 403 as `lockAsAdmin`. */
export async function lockBot(trx: Transaction, botId: string, context: RequestContext): Promise<void> {
  const bot = (await lockAsAdmin(trx, context, botId)).get(botId)
  if (!bot?.isBot) throw notFound('bot')
}
