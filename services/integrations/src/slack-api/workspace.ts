import { isBot } from '@parley/accounts'
import { slackRefusal } from '@parley/service'
import { team } from '../apps/call-app.ts'
import { type SlackCall, textOf } from './slack-call.ts'
import { findUser } from './users.ts'

/*
 * Methods that describe the server, the owner of the token, and other bots.
 */

/** `auth.test` */
export async function testAuth({ deps: { db, config }, caller: { userId, userName } }: SlackCall) {
  return {
    url: `${config.auth.appUrl}/`,
    team: await findServerName(db),
    team_id: team.id,
    user: userName,
    user_id: userId,
    ...((await isBot(db, userId)) && { bot_id: userId }),
  }
}

/** `team.info` */
export async function teamInfo({ deps: { db, config }, args }: SlackCall) {
  const wanted = textOf(args, 'team') || team.id
  if (wanted !== team.id) throw slackRefusal('team_not_found')
  const name = await findServerName(db)
  return { team: { ...team, name, url: `${config.auth.appUrl}/`, email_domain: '', icon: { image_default: true } } }
}

/** `bots.info`: a bot is also the app and the user of its id. Webhooks are not listed, because only admins see them. */
export async function botInfo(call: SlackCall) {
  const missing = 'bot_not_found'
  const { id, userName, isActive, isBot } = await findUser(call, textOf(call.args, 'bot', missing), missing)
  if (!isBot) throw slackRefusal(missing)
  return { bot: { id, app_id: id, user_id: id, name: userName, deleted: !isActive, icons: {} } }
}

const findServerName = async (db: SlackCall['deps']['db']): Promise<string> =>
  (await db.selectFrom('serverSettings').select('name').executeTakeFirstOrThrow()).name
