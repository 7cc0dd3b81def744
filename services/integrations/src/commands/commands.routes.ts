import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ensureApp, isBot, lockCallerAsAdmin, readName } from '@parley/accounts'
import {
  Id,
  invalid,
  limits,
  Nullable,
  notFound,
  Ok,
  ReceiverUrl,
  readReceiverUrl,
  refusals,
  Timestamp,
} from '@parley/contract'
import { audit, type CommandRow, isDuplicate, isRowId, type Transaction, uuidv7 } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { builtInCommands } from './built-in.ts'
import { deleteOrphans, listCommands, lockCommand } from './commands.queries.ts'

const CommandView = Type.Object({
  id: Nullable(Type.String({ description: 'null for a command that the server runs itself' })),
  name: Type.String({ description: 'Without the slash' }),
  description: Type.String(),
  usageHint: Type.String({ description: 'The arguments after the name, such as `[service]`' }),
  botId: Nullable(Type.String({ description: 'The bot whose app handles the command' })),
  url: Type.Optional(Type.String({ description: 'Only for admins' })),
  createdAt: Nullable(Timestamp),
})

const CommandParams = Type.Object({ commandId: Id })

const Name = Type.String({
  minLength: 1,
  maxLength: limits.commandName + 1,
  description: 'Unique. Lower-case letters, digits, `_` and `-`. A slash before it is ignored',
})
const Words = (description: string) => Type.String({ maxLength: limits.commandHint, description })
const details = {
  description: Type.Optional(Words('A description for the list of commands')),
  usageHint: Type.Optional(Words('The arguments after the name, such as `[service]`')),
}

const NewCommand = Type.Object({ botId: Id, name: Name, url: ReceiverUrl, ...details })

const CommandChanges = Type.Object({
  name: Type.Optional(Name),
  url: Type.Optional(ReceiverUrl),
  ...details,
})

const ListCommands = {
  summary: 'List all commands that people can type after a slash, by name',
  response: { 200: Type.Object({ commands: Type.Array(CommandView) }), ...refusals(401) },
}
const CreateCommand = {
  summary: 'Add a command that the app of a bot handles',
  description:
    'When somebody types the command, Slack’s form is sent to `url`, signed with the signing secret of the bot. A bot without a signing ' +
    'secret gets one. It is shown only in this response; `PUT /bots/:botId` replaces it.',
  body: NewCommand,
  response: {
    200: Type.Object({
      command: CommandView,
      signingSecret: Type.Optional(Type.String({ description: 'Only when the bot had none before' })),
    }),
    ...refusals(400, 401, 403),
  },
}
const UpdateCommand = {
  summary: 'Change a command',
  description: 'Fields that are left out stay as they are.',
  params: CommandParams,
  body: CommandChanges,
  response: { 200: Type.Object({ command: CommandView }), ...refusals(400, 401, 403, 404) },
}
const DeleteCommand = {
  summary: 'Delete a command',
  params: CommandParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** Lists commands, and lets admins add, change and delete them. */
export const commandRoutes =
  ({ db, seals, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const

    app.get('/commands', { schema: ListCommands }, async ({ caller }) => {
      const ofBots = (await listCommands(db)).map(caller.isAdmin ? adminViewOf : viewOf)
      const builtIn = builtInCommands.map(({ name, description, usageHint }) => ({
        id: null,
        name,
        description,
        usageHint,
        botId: null,
        createdAt: null,
      }))
      return { commands: [...builtIn, ...ofBots].sort((one, other) => (one.name < other.name ? -1 : 1)) }
    })

    app.post('/commands', { schema: CreateCommand, config: access }, async ({ caller, ip, body }) => {
      const { botId } = body
      const [name, url] = [readCommandName(body.name), readReceiverUrl(body.url)]
      const description = readHint(body.description ?? '', 'description')
      const usageHint = readHint(body.usageHint ?? '', 'usageHint')
      const now = clock()
      if (!(await isBot(db, botId))) throw invalid('botId must be the id of a bot')
      return refusingDuplicates(name, () =>
        db.transaction().execute(async (trx) => {
          await lockCallerAsAdmin(trx, { caller, now })
          await deleteOrphans(trx, name, now)
          const signingSecret = await ensureApp(trx, { seals, botId, now })
          const created = { createdBy: caller.userId, createdAt: now }
          const row = await trx
            .insertInto('commands')
            .values({ id: uuidv7(), botId, name, url, description, usageHint, ...created })
            .returningAll()
            .executeTakeFirstOrThrow()
          const target = { actorId: caller.userId, targetType: 'command', targetId: row.id } as const
          await audit(trx, { action: 'command.create', ...target, metadata: { name, botId }, ip })
          return { command: adminViewOf(row), ...(signingSecret !== undefined && { signingSecret }) }
        }),
      )
    })

    app.put('/commands/:commandId', { schema: UpdateCommand, config: access }, async (request) => {
      const { caller, ip, params, body } = request
      const { description, usageHint } = body
      const changes = {
        ...(body.name !== undefined && { name: readCommandName(body.name) }),
        ...(body.url !== undefined && { url: readReceiverUrl(body.url) }),
        ...(description !== undefined && { description: readHint(description, 'description') }),
        ...(usageHint !== undefined && { usageHint: readHint(usageHint, 'usageHint') }),
      }
      const now = clock()
      return refusingDuplicates(changes.name ?? '', () =>
        db.transaction().execute(async (trx) => {
          await lockCallerAsAdmin(trx, { caller, now })
          const { id } = await lockExisting(trx, params.commandId)
          if (changes.name !== undefined) await deleteOrphans(trx, changes.name, now)
          const row = await trx
            .updateTable('commands')
            .set({ ...changes, updatedAt: now })
            .where('id', '=', id)
            .returningAll()
            .executeTakeFirstOrThrow()
          const target = { actorId: caller.userId, targetType: 'command', targetId: id } as const
          await audit(trx, { action: 'command.update', ...target, metadata: { fields: Object.keys(changes) }, ip })
          return { command: adminViewOf(row) }
        }),
      )
    })

    app.delete('/commands/:commandId', { schema: DeleteCommand, config: access }, async ({ caller, ip, params }) => {
      const now = clock()
      await db.transaction().execute(async (trx) => {
        await lockCallerAsAdmin(trx, { caller, now })
        const { id, name } = await lockExisting(trx, params.commandId)
        await trx.updateTable('commands').set({ deletedAt: now }).where('id', '=', id).execute()
        const target = { actorId: caller.userId, targetType: 'command', targetId: id } as const
        await audit(trx, { action: 'command.delete', ...target, metadata: { name }, ip })
      })
      return { success: true as const }
    })
  }

async function lockExisting(trx: Transaction, id: string): Promise<CommandRow> {
  const row = isRowId(id) ? await lockCommand(trx, id) : undefined
  if (!row) throw notFound('command')
  return row
}

const nameForm = /^[a-z0-9][a-z0-9_-]*$/

/** @throws ApiError 400 when the name has forbidden characters, is too long, or is that of a built-in command. */
function readCommandName(text: string): string {
  const name = text.replace(/^\//, '')
  if (!nameForm.test(name) || name.length > limits.commandName) {
    throw invalid(`name must be at most ${limits.commandName} lower-case letters, digits, _ and -`)
  }
  if (builtInCommands.some((command) => command.name === name)) throw duplicate(name)
  return name
}

/** A text for one line of the list of commands; it may be empty. @throws ApiError 400 when it has control or bidirectional characters. */
const readHint = (text: string, field: string) => (text.trim() === '' ? '' : readName(text, field, limits.commandHint))

const duplicate = (name: string) => invalid(`There is a command /${name} already`, 'duplicate')

const refusingDuplicates = <Result>(name: string, work: () => Promise<Result>): Promise<Result> =>
  work().catch((error) => {
    throw isDuplicate(error, 'commands_live_name') ? duplicate(name) : error
  })

const viewOf = ({ id, name, description, usageHint, botId, createdAt }: CommandRow) => ({
  id,
  name,
  description,
  usageHint,
  botId,
  createdAt,
})

/** Only admins see the address of the app. */
const adminViewOf = (row: CommandRow) => ({ ...viewOf(row), url: row.url })
