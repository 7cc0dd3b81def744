import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { lockCallerAsAdmin, readName } from '@parley/accounts'
import { Id, limits, NameText, Nullable, notFound, Ok, refusals, Timestamp } from '@parley/contract'
import { audit, isRowId, uuidv7 } from '@parley/database'
import { createScimToken } from '@parley/identity'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { type Confirmations, confirmationFields } from '../second-factors/confirmations.ts'

const ScimClient = Type.Object({
  id: Id,
  name: Type.String(),
  createdAt: Timestamp,
  lastUsedAt: Nullable({
    ...Timestamp,
    description: 'To the minute, in epoch milliseconds; null before its first use',
  }),
})

const CreateClient = {
  summary: 'Add a directory that provisions people by SCIM',
  description:
    'The token is shown only here. It works only for paths below /scim/v2. Unless the admin signed in during the last ten minutes, they ' +
    'confirm it in the body as for `POST /auth/tokens`.',
  body: Type.Object({ name: NameText(limits.tokenName), ...confirmationFields }),
  response: { 200: Type.Object({ ...ScimClient.properties, token: Type.String() }), ...refusals(400, 401, 403, 429) },
}

const ListClients = {
  summary: 'List the directories that provision people by SCIM, oldest first',
  response: { 200: Type.Object({ clients: Type.Array(ScimClient) }), ...refusals(401, 403) },
}

const DeleteClient = {
  summary: 'Stop a directory from provisioning people',
  description: 'Its token stops working at once. The people stay as they are.',
  params: Type.Object({ clientId: Type.String() }),
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

export const scimClientRoutes =
  ({ db, clock }: Deps, { confirmed }: Confirmations): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const

    const onlySessions = { ...access, tokenScope: 'none' } as const
    app.post('/admin/scim-clients', { schema: CreateClient, config: onlySessions }, async (request) => {
      const { caller, body } = request
      const id = uuidv7()
      const name = readName(body.name, 'name', limits.tokenName)
      const { token, tokenHash } = createScimToken(id)
      return confirmed(request, async (trx, _, { ip, now }) => {
        await lockCallerAsAdmin(trx, { caller, now })
        const row = { id, name, tokenHash, createdBy: caller.userId, createdAt: now }
        await trx.insertInto('scimClients').values(row).execute()
        const target = { targetType: 'scim-client', targetId: id, metadata: { name } } as const
        await audit(trx, { action: 'scim.client.create', actorId: caller.userId, ...target, ip })
        return { id, name, createdAt: now, lastUsedAt: null, token }
      })
    })

    app.get('/admin/scim-clients', { schema: ListClients, config: access }, async () => ({
      clients: await db
        .selectFrom('scimClients')
        .select(['id', 'name', 'createdAt', 'lastUsedAt'])
        .where('deletedAt', 'is', null)
        .orderBy('id')
        .execute(),
    }))

    app.delete('/admin/scim-clients/:clientId', { schema: DeleteClient, config: access }, async (request) => {
      const { caller, ip, params } = request
      if (!isRowId(params.clientId)) throw notFound('client')
      const now = clock()
      await db.transaction().execute(async (trx) => {
        await lockCallerAsAdmin(trx, { caller, now })
        const deleted = await trx
          .updateTable('scimClients')
          .set({ deletedAt: now })
          .where('id', '=', params.clientId)
          .where('deletedAt', 'is', null)
          .returning('name')
          .executeTakeFirst()
        if (!deleted) throw notFound('client')
        const target = { targetType: 'scim-client', targetId: params.clientId, metadata: deleted } as const
        await audit(trx, { action: 'scim.client.delete', actorId: caller.userId, ...target, ip })
      })
      return { success: true as const }
    })
  }
