import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readName } from '@parley/accounts'
import { everyone, limits, refusals, ServerSettings } from '@parley/contract'
import { audit, type Database, record } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { findSettings, lockSettings, updateSettings } from './settings.queries.ts'

const GetSettings = {
  summary: 'The settings of this server',
  response: { 200: ServerSettings, ...refusals(401) },
}

const UpdateSettings = {
  summary: 'Change the settings of this server',
  body: Type.Object({ name: Type.String({ minLength: 1, maxLength: limits.serverName }) }),
  response: { 200: ServerSettings, ...refusals(400, 401, 403) },
}

export const settingsRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/server/settings', { schema: GetSettings }, async () => findSettings(db))

    app.put(
      '/server/settings',
      { schema: UpdateSettings, config: { access: 'admin' } },
      async ({ caller, ip, body }) => {
        const name = readName(body.name, 'name', limits.serverName)
        await renameServer(db, name, caller, ip)
        return { name }
      },
    )
  }

/** The name it has already is no event. */
function renameServer(db: Database, name: string, caller: Caller, ip: string): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const before = await lockSettings(trx)
    if (before.name === name) return

    await updateSettings(trx, { name })
    await record(trx, { type: 'UPDATE_SERVER_SETTINGS', payload: { name }, routing: everyone })
    await audit(trx, {
      action: 'server.settings.update',
      actorId: caller.userId,
      targetType: 'server',
      targetId: 'server',
      metadata: { from: before.name, to: name },
      ip,
    })
  })
}
