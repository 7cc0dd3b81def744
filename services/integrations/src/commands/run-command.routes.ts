import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, wireChannelId } from '@parley/access'
import { EphemeralMessage, Id, invalid, limits, Nullable, refusals } from '@parley/contract'
import type { ChannelRow } from '@parley/database'
import { bearerToken } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { messagesPath } from '../api-paths.ts'
import type { AppParts } from '../apps/app-answers.ts'
import { callApp, type RequestedInteraction, slackFieldsOf, team } from '../apps/call-app.ts'
import { createResponseUrl } from '../apps/response-urls.ts'
import { refusalOf } from '../call-services.ts'
import { type BuiltIn, builtInCommands, CommandRefused, describeCommands, type TypedCommand } from './built-in.ts'
import { findCommand } from './commands.queries.ts'

const shape = {
  description:
    'The server runs some commands itself (`GET /commands` lists all). For the others, Slack’s signed form is sent to the app. Its response ' +
    'becomes a message of the bot (`in_channel`), or an EPHEMERAL_MESSAGE that only the caller gets and that the response repeats, with the same id. ' +
    'The caller also gets an EPHEMERAL_MESSAGE when the app does not answer within three seconds, or when the command is unknown.',
  body: Type.Object({
    text: Type.String({
      minLength: 1,
      maxLength: limits.content,
      description: 'The typed text: `/name` and its arguments',
    }),
  }),
  response: {
    200: Type.Object({
      ephemeral: Nullable(EphemeralMessage),
      isRefused: Type.Optional(
        Type.Boolean({
          description: 'True when nothing was done: the command is unknown, or the server has refused it',
        }),
      ),
    }),
    ...refusals(400, 401, 403, 404),
  },
}
const RunInChannel = { summary: 'Run a command in a channel', params: Type.Object({ channelId: Id }), ...shape }
const RunInConversation = {
  summary: 'Run a command in a conversation',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

/** The routes for commands that people type. */
export const runCommandRoutes =
  ({ deps, call, requester, appAnswers }: AppParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db } = deps

    app.post('/channels/:channelId/commands', { schema: RunInChannel }, async (request) =>
      run(request, await accessChannel(db, request.caller, request.params.channelId), request.body.text),
    )

    const route = { schema: RunInConversation }
    app.post('/conversations/:conversationId/commands', route, async (request) =>
      run(request, await accessConversation(db, request.caller, request.params.conversationId), request.body.text),
    )

    async function run(request: FastifyRequest, channel: ChannelRow, typed: string) {
      const [, name, text] = /^\/(\S+)\s*(.*)$/s.exec(typed.trim()) ?? []
      if (name === undefined) throw invalid('text must begin with a slash and the name of a command')
      const to = { userId: request.caller.userId, channelId: wireChannelId(channel) }
      const builtIn = builtInCommands.find((command) => command.name === name.toLowerCase())
      if (builtIn) {
        const { answer, ...outcome } = await runBuiltIn(builtIn, typedCommandOf(request, channel, text!))
        return { ephemeral: answer === undefined ? null : appAnswers.sendText(to, answer), ...outcome }
      }
      const command = await findCommand(db, name.toLowerCase())
      if (command) return { ephemeral: await runByApp(request, channel, command, text!) }
      const known = await describeCommands(db)
      return {
        ephemeral: appAnswers.sendText(to, `There is no command /${name.slice(0, limits.commandName)}. ${known}`),
        isRefused: true,
      }
    }

    type Command = NonNullable<Awaited<ReturnType<typeof findCommand>>>
    async function runByApp({ caller, id }: FastifyRequest, channel: ChannelRow, command: Command, text: string) {
      const interaction: RequestedInteraction = { app: command, caller, channel, requestId: id }
      const { channel: slackChannel, is_enterprise_install, ...rest } = slackFieldsOf(interaction)
      const form = {
        ...rest,
        is_enterprise_install: String(is_enterprise_install),
        team_id: team.id,
        team_domain: team.domain,
        channel_id: slackChannel.id,
        channel_name: slackChannel.name,
        user_id: caller.userId,
        user_name: caller.userName,
        command: `/${command.name}`,
        text,
        response_url: await createResponseUrl(deps, interaction),
      }
      const answer = await callApp(requester, deps, { app: command, url: command.url, form })
      return appAnswers.showOutcome(interaction, `/${command.name}`, answer)
    }

    /** The command with what a built-in command may call. Its requests have the caller's token. */
    function typedCommandOf(request: FastifyRequest, channel: ChannelRow, text: string): TypedCommand {
      const token = bearerToken(request)
      const ask: TypedCommand['ask'] = async (asked) => {
        const key = asked.method === 'POST' ? { idempotencyKey: randomUUID() } : {}
        const response = await call({ ...asked, ...key, token, requestId: request.id })
        if (response.status === 200) return response.body
        const refusal = refusalOf(response)
        if (refusal.status >= 500 || refusal.status === 401 || refusal.status === 429) throw refusal
        throw new CommandRefused(refusal.message)
      }
      const path = messagesPath(wireChannelId(channel))
      const say = (content: string) => ask({ service: 'messaging', method: 'POST', path, body: { content } })
      return { db, channel, userId: request.caller.userId, text, ask, say }
    }
  }

/** The answer of a command of the server, or the sentence of its refusal. Only the caller sees it. */
async function runBuiltIn(
  { run }: BuiltIn,
  typed: TypedCommand,
): Promise<{ answer: string | undefined; isRefused?: true }> {
  try {
    return { answer: await run(typed) }
  } catch (error) {
    if (error instanceof CommandRefused) return { answer: `${error.message}.`, isRefused: true }
    throw error
  }
}
