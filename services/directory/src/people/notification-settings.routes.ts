import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { missedMessagesAfterSeconds } from '@parley/config'
import { Nullable, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const NotificationSettings = Type.Object({
  mailsMissedMessages: Type.Boolean({
    description:
      'Whether the caller gets mails about unread direct messages and mentions that came while they had no stream open',
  }),
})

const GetSettings = {
  summary: 'Get the caller’s notification settings',
  response: {
    200: Type.Object({
      ...NotificationSettings.properties,
      mailsAfterSeconds: Nullable(
        Type.Integer({ description: 'The time after which such a mail is sent. Null: this server sends none' }),
      ),
    }),
    ...refusals(401),
  },
}

const PutSettings = {
  summary: 'Change the caller’s notification settings',
  body: NotificationSettings,
  response: { 200: NotificationSettings, ...refusals(400, 401) },
}

export const notificationSettingsRoutes =
  ({ db, config }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const mailsAfterSeconds = missedMessagesAfterSeconds(config)

    app.get('/users/me/notifications', { schema: GetSettings }, async ({ caller }) => {
      const stored = await db
        .selectFrom('notificationSettings')
        .select('mailsMissedMessages')
        .where('userId', '=', caller.userId)
        .executeTakeFirst()
      return { mailsMissedMessages: stored?.mailsMissedMessages ?? true, mailsAfterSeconds }
    })

    app.put('/users/me/notifications', { schema: PutSettings }, async ({ caller, body: { mailsMissedMessages } }) => {
      await db
        .insertInto('notificationSettings')
        .values({ userId: caller.userId, mailsMissedMessages })
        .onConflict((conflict) => conflict.column('userId').doUpdateSet({ mailsMissedMessages }))
        .execute()
      return { mailsMissedMessages }
    })
  }
