import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { limits, type Message, type User } from '@parley/contract'
import { findCaller } from '@parley/identity'
import { bearerToken, type Deps, refuseAs, refuseNul, slackForm, slackRefusal } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { channelPath } from '../api-paths.ts'
import type { CallService } from '../call-services.ts'
import { reactionOf, slackReactionName } from '../slack-objects/emoji-names.ts'
import { findReferences } from '../slack-objects/slack-ids.queries.ts'
import { asSlackMessage, asSlackUser, findSlackMessage } from '../slack-objects/slack-objects.ts'
import {
  deleteMessage,
  findChannelId,
  findMessageByTs,
  getPermalink,
  postEphemeral,
  postMessage,
  updateMessage,
} from './chat.ts'
import {
  conversationInfo,
  history,
  join,
  listConversations,
  listUsers,
  members,
  open,
  replies,
  userInfo,
} from './conversations.ts'
import { completeUpload, fileInfo, getUploadUrl } from './files.ts'
import { type Arguments, createAsk, type SlackCall, textOf } from './slack-call.ts'

/** A method of the web API. The response has its result beside `ok: true`. */
type Method = (call: SlackCall) => Promise<object>

const SlackResponse = Type.Unsafe<{ ok: boolean }>({
  type: 'object',
  required: ['ok'],
  properties: { ok: { type: 'boolean' }, error: { type: 'string' } },
  additionalProperties: true,
})

const CallMethod = {
  summary: 'Call a method of Slack’s web API',
  description:
    'For programs that are written for Slack, with an API token of Parley (`Authorization: Bearer`, or the argument `token`): ' +
    '`docs/integrations.md` lists the methods. Arguments may be in a form, in JSON, or in the query. The status is always 200, except for ' +
    '429 and 503. The body is `{ok: true, …}` or `{ok: false, error}`, with the error codes of Slack.',
  params: Type.Object({ method: Type.String({ maxLength: 100 }) }),
  response: { 200: SlackResponse },
}

export const slackApiRoutes =
  (deps: Deps, call: CallService): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.setErrorHandler(refuseAs(slackForm))
    app.addContentTypeParser<string>(
      /^application\/x-www-form-urlencoded(?:;|$)/i,
      { parseAs: 'string' },
      (_request, body, done) => {
        const form = Object.fromEntries(new URLSearchParams(body))
        try {
          refuseNul(form)
          done(null, form)
        } catch (error) {
          done(error as Error)
        }
      },
    )
    app.route({
      method: ['GET', 'POST'],
      url: '/slack/api/:method',
      schema: CallMethod,
      config: { access: 'none' },
      async handler(request) {
        const { method: name } = request.params as { method: string }
        const args = argumentsOf(request)
        if (name === 'api.test') return testApi(args)
        const method = Object.hasOwn(methods, name) ? methods[name] : undefined
        if (!method) throw slackRefusal('unknown_method')
        const token = tokenOf(request, args)
        const caller = await findCaller(deps.db, await deps.tokens.verifyAccess(token), deps.clock())
        return { ok: true, ...(await method({ deps, args, caller, ask: createAsk(call, token, request.id), token })) }
      },
    })
  }

function testApi({ token: _, ...args }: Arguments) {
  if (typeof args.error === 'string' && args.error !== '') throw slackRefusal(args.error, { args })
  return { ok: true, args }
}

const methods: Record<string, Method> = {
  'auth.test': async ({ deps, caller }) => ({
    url: `${deps.config.auth.appUrl}/`,
    team: 'Parley',
    team_id: 'parley',
    user: caller.userName,
    user_id: caller.userId,
    bot_id: caller.userId,
  }),
  'chat.postMessage': postMessage,
  'chat.postEphemeral': postEphemeral,
  'chat.update': updateMessage,
  'chat.delete': deleteMessage,
  'chat.getPermalink': getPermalink,
  'conversations.list': (call) => listConversations(call, false),
  'users.conversations': (call) => listConversations(call, true),
  'conversations.info': conversationInfo,
  'conversations.history': history,
  'conversations.replies': replies,
  'conversations.members': members,
  'conversations.join': join,
  'conversations.open': open,
  'users.list': listUsers,
  'users.info': userInfo,
  async 'users.lookupByEmail'({ ask, args }) {
    const email = textOf(args, 'email', 'users_not_found').toLowerCase()
    const query = new URLSearchParams({ q: email.slice(0, limits.email), limit: '200' })
    const { users }: { users: User[] } = await ask({ service: 'directory', method: 'GET', path: `/users?${query}` })
    const user = users.find((each) => each.email.toLowerCase() === email)
    if (!user) throw slackRefusal('users_not_found')
    return { user: asSlackUser(user) }
  },
  async 'reactions.add'(call) {
    const reaction = reactionOf(textOf(call.args, 'name', 'invalid_name'))
    const { message } = await readTargetMessage(call)
    const spellings = spellingsIn(message, slackReactionName(reaction))
    if (spellings.some(({ users }) => users.includes(call.caller.userId))) throw slackRefusal('already_reacted')
    const isNew = await react(call, 'POST', { id: message.id, reaction: spellings[0]?.reaction ?? reaction })
    if (!isNew) throw slackRefusal('already_reacted')
    return {}
  },
  async 'reactions.remove'(call) {
    const name = slackReactionName(textOf(call.args, 'name', 'invalid_name'))
    const { message } = await readTargetMessage(call)
    const removals = spellingsIn(message, name)
      .filter(({ users }) => users.includes(call.caller.userId))
      .map(({ reaction }) => react(call, 'DELETE', { id: message.id, reaction }))
    if (!(await Promise.all(removals)).includes(true)) throw slackRefusal('no_reaction')
    return {}
  },
  async 'reactions.get'(call) {
    const { channel, message } = await readTargetMessage(call)
    return { type: 'message', channel, message: await findSlackMessage(call.deps.db, message) }
  },
  'pins.add': (call) => pin(call, 'POST'),
  'pins.remove': (call) => pin(call, 'DELETE'),
  'files.getUploadURLExternal': getUploadUrl,
  'files.completeUploadExternal': completeUpload,
  'files.info': fileInfo,
  async 'pins.list'(call) {
    const channel = await findChannelId(call)
    const path = `${channelPath(channel)}/pins`
    const { messages }: { messages: Message[] } = await call.ask({ service: 'messaging', method: 'GET', path })
    const references = await findReferences(call.deps.db, messages)
    return {
      items: messages.map((message) => ({
        type: 'message',
        channel,
        created: Math.floor((message.pinnedAt ?? 0) / 1_000),
        message: asSlackMessage(message, references),
      })),
    }
  },
}

async function targetMessage(call: SlackCall) {
  const channel = await findChannelId(call)
  const { id } = await findMessageByTs(call, channel, call.args.timestamp)
  return { channel, id }
}

async function readTargetMessage(call: SlackCall): Promise<{ channel: string; message: Message }> {
  const { id, channel } = await targetMessage(call)
  const errorCodes = { 403: 'message_not_found', 404: 'message_not_found' }
  const { message } = await call.ask({ service: 'messaging', method: 'GET', path: `/messages/${id}` }, errorCodes)
  return { channel, message }
}

/** The reactions of a message that have this name in Slack. Other clients may have spelt one emoji in several ways. */
const spellingsIn = ({ reactions }: Message, name: string) =>
  Object.entries(reactions)
    .map(([reaction, users]) => ({ reaction, users }))
    .filter(({ reaction }) => slackReactionName(reaction) === name)

/** Returns false when the message had the reaction of the caller already, or did not have it. */
async function react(
  call: SlackCall,
  method: 'POST' | 'DELETE',
  { id, reaction }: { id: string; reaction: string },
): Promise<boolean> {
  const path = `/messages/${id}/reactions`
  const errorCodes = { 400: 'invalid_name', 403: 'message_not_found', 404: 'message_not_found' }
  const { isChanged } = await call.ask({ service: 'messaging', method, path, body: { reaction } }, errorCodes)
  return isChanged
}

async function pin(call: SlackCall, method: 'POST' | 'DELETE') {
  const { id } = await targetMessage(call)
  const errorCodes = { 400: 'not_pinnable', 403: 'not_in_channel', 404: 'message_not_found' }
  const { isChanged } = await call.ask({ service: 'messaging', method, path: `/messages/${id}/pin` }, errorCodes)
  if (isChanged === false) throw slackRefusal(method === 'POST' ? 'already_pinned' : 'no_pin')
  return {}
}

/** The token of a request: from its header, or from its arguments. @throws ProtocolRefusal `not_authed` when there is none. */
function tokenOf(request: FastifyRequest, args: Arguments): string {
  if (request.headers.authorization !== undefined) return bearerToken(request)
  return textOf(args, 'token', 'not_authed')
}

function argumentsOf({ query, body }: FastifyRequest): Arguments {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw slackRefusal('json_not_object')
  return { ...(query as Arguments), ...(body as Arguments) }
}
