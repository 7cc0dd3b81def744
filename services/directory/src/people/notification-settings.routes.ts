import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { missedMessagesAfterSeconds } from '@parley/config'
import { Language, languages, Nullable, refusals } from '@parley/contract'
import type { Reader } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const mailsMissedMessages = Type.Boolean({
  description:
    'Whether the caller gets mails about unread direct messages and mentions that came while they had no stream open',
})

const Settings = Type.Object({
  mailsMissedMessages,
  mailLanguage: Type.Unsafe<Language | null>({ enum: [...languages, null] }),
  mailsAfterSeconds: Nullable(
    Type.Integer({ description: 'The time after which such a mail is sent. Null: this server sends none' }),
  ),
})

const GetSettings = {
  summary: 'Get the caller’s notification settings',
  description:
    '`mailLanguage` is the language of all mails to the caller. It is null while it is not known: their directory has sent none, and they have ' +
    'neither signed in with a browser nor set it. Then mails are in the language of the server.',
  response: { 200: Settings, ...refusals(401) },
}

const PutSettings = {
  summary: 'Change the caller’s notification settings',
  body: Type.Object(
    { mailsMissedMessages: Type.Optional(mailsMissedMessages), mailLanguage: Type.Optional(Language) },
    { minProperties: 1 },
  ),
  response: { 200: Settings, ...refusals(400, 401) },
}

export const notificationSettingsRoutes =
  ({ db, config }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const mailsAfterSeconds = missedMessagesAfterSeconds(config)

    const findSettings = async (db: Reader, userId: string) => {
      const { language, wanted } = await db
        .selectFrom('users')
        .leftJoin('notificationSettings', 'userId', 'id')
        .select(['language', 'mailsMissedMessages as wanted'])
        .where('id', '=', userId)
        .executeTakeFirstOrThrow()
      return { mailsMissedMessages: wanted ?? true, mailLanguage: language, mailsAfterSeconds }
    }

    app.get('/users/me/notifications', { schema: GetSettings }, ({ caller }) => findSettings(db, caller.userId))

    app.put('/users/me/notifications', { schema: PutSettings }, ({ caller, body }) =>
      db.transaction().execute(async (trx) => {
        const { userId } = caller
        const { mailsMissedMessages, mailLanguage } = body
        if (mailsMissedMessages !== undefined) {
          await trx
            .insertInto('notificationSettings')
            .values({ userId, mailsMissedMessages })
            .onConflict((conflict) => conflict.column('userId').doUpdateSet({ mailsMissedMessages }))
            .execute()
        }
        if (mailLanguage !== undefined) {
          const chosen = { language: mailLanguage, languageChosen: true }
          await trx.updateTable('users').set(chosen).where('id', '=', userId).execute()
        }
        return findSettings(trx, userId)
      }),
    )
  }
