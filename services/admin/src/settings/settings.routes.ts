import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { lockCallerAsAdmin, type RequestContext, readName } from '@parley/accounts'
import { everyone, limits, NameText, refusals, ServerSettings } from '@parley/contract'
import { audit, type Database, type Reader, record, type Transaction } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const GetSettings = {
  summary: 'Get the settings of this server',
  response: { 200: ServerSettings, ...refusals(401) },
}

const UpdateSettings = {
  summary: 'Change the settings of this server',
  body: Type.Object({ name: NameText(limits.serverName) }),
  response: { 200: ServerSettings, ...refusals(400, 401, 403) },
}

export const settingsRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/server/settings', { schema: GetSettings }, async () => findSettings(db))

    app.put(
      '/server/settings',
      { schema: UpdateSettings, config: { access: 'admin' } },
      async ({ caller, ip, body }) => {
        const name = readName(body.name, 'name', limits.serverName)
        await renameServer(db, name, { caller, ip, now: clock() })
        return { name }
      },
    )
  }

/** Renames the server. Without a change no event is recorded. */
function renameServer(db: Database, name: string, context: RequestContext): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const before = await lockSettings(trx)
    if (before.name === name) return

    await trx.updateTable('serverSettings').set({ name }).execute()
    await record(trx, { type: 'UPDATE_SERVER_SETTINGS', payload: { name }, routing: everyone })
    await audit(trx, {
      action: 'server.settings.update',
      actorId: context.caller.userId,
      targetType: 'server',
      targetId: 'server',
      metadata: { from: before.name, to: name },
      ip: context.ip,
    })
  })
}

// The table has one row, which the migration inserts.
const findSettings = (db: Reader): Promise<ServerSettings> =>
  db.selectFrom('serverSettings').select('name').executeTakeFirstOrThrow()

const lockSettings = (trx: Transaction): Promise<ServerSettings> =>
  trx.selectFrom('serverSettings').select('name').forUpdate().executeTakeFirstOrThrow()
