import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findChannel, requireAccess, rowIdOf, wireChannelId } from '@parley/access'
import {
  EphemeralMessage,
  Id,
  invalid,
  type Message,
  type MessageBlock,
  Nullable,
  notFound,
  refusals,
} from '@parley/contract'
import { type ChannelRow, isRowId } from '@parley/database'
import type { Caller } from '@parley/identity'
import { bearerToken } from '@parley/service'
import { slackTs } from '@parley/slack'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusalOf } from '../call-services.ts'
import { findSlackMessage } from '../slack-objects/slack-objects.ts'
import type { AppParts } from './app-answers.ts'
import { findApp } from './apps.queries.ts'
import { type Clicked, findButton } from './buttons.ts'
import { callApp, type Interaction, type RequestedInteraction, slackFieldsOf, team } from './call-app.ts'
import { type ClickToken, longestClickToken, readClickToken } from './ephemeral-messages.ts'
import { createResponseUrl } from './response-urls.ts'

const ClickButton = {
  summary: 'Click a button of a message',
  description:
    'Sends a signed `block_actions` of Slack to the `interactivityUrl` of the bot that wrote the message. The app’s response becomes a ' +
    'message of the bot, or an EPHEMERAL_MESSAGE that only the caller gets and that the response repeats. When the app does not respond ' +
    'within three seconds, the caller gets a message about the failure. Buttons with a `url` are links, so clicks on them are not sent. ' +
    'A click on an EPHEMERAL_MESSAGE needs its `clickToken`, because the message is not stored; `replace_original` and `delete_original` ' +
    'then change the message that only the caller sees.',
  params: Type.Object({ messageId: Id }),
  body: Type.Object({
    blockId: Type.Optional(Type.String({ maxLength: 255, description: '`block_id` of the block, when it has one' })),
    actionId: Type.String({ maxLength: 255, description: '`action_id` of the button' }),
    value: Type.Optional(Type.String({ maxLength: 2_000, description: '`value` of the button, when it has one' })),
    clickToken: Type.Optional(
      Type.String({ maxLength: longestClickToken, description: '`clickToken` of an EPHEMERAL_MESSAGE' }),
    ),
  }),
  response: {
    200: Type.Object({ ephemeral: Nullable(EphemeralMessage) }),
    ...refusals(400, 401, 403, 404),
  },
}

/** The route for clicks on the buttons of messages. */
export const actionRoutes =
  ({ deps, call, requester, appAnswers }: AppParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/messages/:messageId/actions', { schema: ClickButton }, async (request) => {
      const { caller, body } = request
      const { messageId } = request.params
      if (!isRowId(messageId)) throw notFound('message')
      const { clickToken } = body
      const message =
        clickToken === undefined
          ? await readStored(request, messageId)
          : await readEphemeral(caller, readClickToken(deps, clickToken, { messageId, userId: caller.userId }))
      const clicked = findButton(message.blocks, body)
      if (!clicked) throw invalid('The message has no such button')
      // The id of a webhook is not a row id. Webhooks have no app that could handle clicks.
      const used = isRowId(message.authorId) ? await findApp(deps.db, message.authorId) : undefined
      if (!used?.interactivityUrl) throw invalid('The author of this message does not handle clicks')

      const { channel, reference } = message
      const interaction: RequestedInteraction = { app: used, caller, channel, requestId: request.id, ...reference }
      const payload = JSON.stringify(await clickOf(interaction, message, clicked, body.value))
      const answer = await callApp(requester, deps, { app: used, url: used.interactivityUrl, form: { payload } })
      return { ephemeral: await appAnswers.showOutcome(interaction, `The button of ${used.userName}`, answer) }
    })

    async function readStored(request: FastifyRequest, messageId: string): Promise<ClickedMessage> {
      const path = `/messages/${messageId}`
      const token = bearerToken(request)
      const read = await call({ service: 'messaging', method: 'GET', path, token, requestId: request.id })
      if (read.status !== 200) throw refusalOf(read)
      const message: Message = read.body.message
      const channel = await findChannel(deps.db, rowIdOf(message.channelId))
      if (!channel) throw notFound('message')
      const inSlack = await findSlackMessage(deps, message)
      const { author, blocks } = message
      return { authorId: author.id, blocks, channel, ts: inSlack.ts, inSlack, reference: { messageId } }
    }

    async function readEphemeral(caller: Caller, token: ClickToken): Promise<ClickedMessage> {
      const { authorId, blocks, id, createdAt } = token
      const channel = await findChannel(deps.db, rowIdOf(token.channelId))
      if (!channel) throw notFound('message')
      await requireAccess(deps.db, caller, channel)
      return {
        authorId,
        blocks,
        channel,
        ts: slackTs(createdAt * 1_000),
        reference: { original: { id, createdAt } },
      }
    }

    async function clickOf(
      interaction: Interaction,
      message: ClickedMessage,
      { button, blockId }: Clicked,
      value = button.value,
    ) {
      const { userId, userName } = interaction.caller
      const now = deps.clock()
      const { botId } = interaction.app
      return {
        type: 'block_actions',
        ...slackFieldsOf(interaction),
        enterprise: null,
        team,
        user: { id: userId, username: userName, name: userName, team_id: team.id },
        container: {
          type: 'message',
          message_ts: message.ts,
          channel_id: wireChannelId(interaction.channel),
          is_ephemeral: interaction.original !== undefined,
        },
        ...(message.inSlack && { message: { ...message.inSlack, bot_id: botId, app_id: botId } }),
        state: { values: {} },
        response_url: await createResponseUrl(deps, interaction),
        actions: [
          {
            type: 'button',
            action_id: button.action_id,
            block_id: blockId,
            text: button.text,
            ...(value !== undefined && { value }),
            ...(button.style && { style: button.style }),
            action_ts: slackTs(now * 1_000),
          },
        ],
      }
    }
  }

/** A message with buttons, as the person who clicks sees it. */
interface ClickedMessage {
  authorId: string
  channel: ChannelRow
  blocks: MessageBlock[]
  ts: string
  /** The message in Slack's format. It is missing for an ephemeral message, as at Slack. */
  inSlack?: object
  /** The message, as the interaction refers to it. */
  reference: Pick<Interaction, 'messageId' | 'original'>
}
