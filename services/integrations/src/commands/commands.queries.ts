import type { CommandRow, Reader, Transaction } from '@parley/database'
import { selectApps } from '../apps/apps.queries.ts'

/** The commands whose bots are not removed or deactivated, by name. */
export const listCommands = (db: Reader): Promise<CommandRow[]> =>
  db
    .selectFrom('commands')
    .innerJoin('users', 'users.id', 'commands.botId')
    .selectAll('commands')
    .where('commands.deletedAt', 'is', null)
    .where('users.removedAt', 'is', null)
    .where('users.deactivatedAt', 'is', null)
    .orderBy('commands.name')
    .execute()

/** A command with the app that answers it. Served by commands_live_name and primary keys. */
export const findCommand = (db: Reader, name: string) =>
  selectApps(db)
    .innerJoin('commands', 'commands.botId', 'apps.botId')
    .select(['commands.name', 'commands.url'])
    .where('commands.name', '=', name)
    .where('commands.deletedAt', 'is', null)
    .executeTakeFirst()

export const lockCommand = (trx: Transaction, id: string): Promise<CommandRow | undefined> =>
  trx
    .selectFrom('commands')
    .selectAll()
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .forUpdate()
    .executeTakeFirst()

/** Deletes the commands of this name whose bot was removed, so that another bot can use the name. */
export const deleteOrphans = (trx: Transaction, name: string, now: number) =>
  trx
    .updateTable('commands')
    .set({ deletedAt: now })
    .where('name', '=', name)
    .where('deletedAt', 'is', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'commands.botId')
          .where('users.removedAt', 'is not', null),
      ),
    )
    .execute()
