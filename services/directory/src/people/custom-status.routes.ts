import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readCustomStatus, setCustomStatus } from '@parley/accounts'
import { type CustomStatus, limits, Nullable, refusals, UserView } from '@parley/contract'
import { userView } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const response = { 200: Type.Object({ user: UserView }) }

const SetStatus = {
  summary: 'Set the caller’s custom status',
  description:
    'What the others see beside the name, such as 🌴 “on holiday”. It needs a text or an emoji, and replaces the status ' +
    'before. At `expiresAt` the server removes it. UPDATE_USER tells of every change.',
  body: Type.Object({
    text: Type.Optional(
      Type.String({ description: `At most ${limits.statusText} characters, without white space at both ends` }),
    ),
    emoji: Type.Optional(Nullable(Type.String({ description: 'One emoji in Unicode' }))),
    expiresAt: Type.Optional(
      Nullable(
        Type.Integer({ maximum: limits.expiresAt, description: 'Epoch milliseconds. Absent or null: it stays' }),
      ),
    ),
  }),
  response: { ...response, ...refusals(400, 401) },
}

const RemoveStatus = {
  summary: 'Remove the caller’s custom status',
  description: 'Idempotent.',
  response: { ...response, ...refusals(401) },
}

export const customStatusRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.put('/users/me/status', { schema: SetStatus }, ({ caller, body }) =>
      change(caller.userId, readCustomStatus(body, clock())),
    )

    app.delete('/users/me/status', { schema: RemoveStatus }, ({ caller }) => change(caller.userId, null))

    async function change(userId: string, status: CustomStatus | null) {
      const user = await db.transaction().execute((trx) => setCustomStatus(trx, userId, status))
      return { user: userView(user) }
    }
  }
