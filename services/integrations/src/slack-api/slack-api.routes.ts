import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findCaller } from '@parley/identity'
import { bearerToken, type Deps, parseForm, refuseAs, refuseNul, slackForm, slackRefusal } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { CallService } from '../call-services.ts'
import { deleteMessage, getPermalink, postEphemeral, postMessage } from './chat.ts'
import { updateMessage } from './chat-update.ts'
import { createChannel, invite, kick, leave, renameChannel, setTopic } from './conversation-changes.ts'
import { conversationInfo, join, listConversations, listJoinedConversations, members, open } from './conversations.ts'
import { completeUpload, fileInfo, getUploadUrl } from './files.ts'
import { history, replies } from './history.ts'
import { getProfile, setProfile } from './profile.ts'
import { addPin, addReaction, getReactions, listPins, removePin, removeReaction } from './reactions-and-pins.ts'
import { type Arguments, createAsk, type SlackCall, scopesOf, textOf } from './slack-call.ts'
import { listUserGroups, listUsersOfUserGroup } from './user-groups.ts'
import { getPresence, listUsers, lookUpByEmail, userInfo } from './users.ts'
import { botInfo, teamInfo, testAuth } from './workspace.ts'

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
    app.addContentTypeParser<Buffer>(
      /^multipart\/form-data(?:;|$)/i,
      { parseAs: 'buffer' },
      async ({ headers }: FastifyRequest, body: Buffer) => readTextsOfForm(body, headers['content-type']!),
    )
    app.route({
      method: ['GET', 'POST'],
      url: '/slack/api/:method',
      schema: CallMethod,
      config: { access: 'none' },
      async handler(request, reply) {
        const { method: name } = request.params as { method: string }
        const args = argumentsOf(request)
        if (name === 'api.test') return testApi(args)
        const method = Object.hasOwn(methods, name) ? methods[name] : undefined
        if (!method) throw slackRefusal('unknown_method', `Parley has no method ${name}`, { req_method: name })
        const token = tokenOf(request, args)
        const claims = await deps.tokens.verifyAccess(token)
        const caller = await findCaller(deps.db, claims, deps.clock())
        deps.tokens.noteGenuine(claims)
        // The gateway sees by this header, which Slack has too, that the token is genuine.
        reply.header('x-oauth-scopes', scopesOf(caller))
        const ask = createAsk(call, { caller, token, requestId: request.id })
        return { ok: true, ...(await method({ deps, args, caller, ask, token })) }
      },
    })
  }

/** No method has so many arguments. */
const maxArguments = 50

/** The texts of a form (multipart/form-data). Its files are ignored. @throws ProtocolRefusal `invalid_form_data` when it cannot be read. */
async function readTextsOfForm(body: Buffer, contentType: string): Promise<Arguments> {
  const form = await parseForm(body, contentType, maxArguments + 1).catch(() => {
    throw slackRefusal('invalid_form_data')
  })
  const texts = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'))
  refuseNul(texts)
  return texts
}

function testApi({ token: _, ...args }: Arguments) {
  if (typeof args.error === 'string' && args.error !== '') throw slackRefusal(args.error, undefined, { args })
  return { ok: true, args }
}

const methods: Record<string, Method> = {
  'auth.test': testAuth,
  'team.info': teamInfo,
  'bots.info': botInfo,
  'chat.postMessage': postMessage,
  'chat.postEphemeral': postEphemeral,
  'chat.update': updateMessage,
  'chat.delete': deleteMessage,
  'chat.getPermalink': getPermalink,
  'conversations.list': listConversations,
  'users.conversations': listJoinedConversations,
  'conversations.info': conversationInfo,
  'conversations.history': history,
  'conversations.replies': replies,
  'conversations.members': members,
  'conversations.join': join,
  'conversations.open': open,
  'conversations.create': createChannel,
  'conversations.rename': renameChannel,
  'conversations.setTopic': setTopic,
  'conversations.invite': invite,
  'conversations.kick': kick,
  'conversations.leave': leave,
  'users.list': listUsers,
  'users.info': userInfo,
  'users.lookupByEmail': lookUpByEmail,
  'users.getPresence': getPresence,
  'users.profile.get': getProfile,
  'users.profile.set': setProfile,
  'usergroups.list': listUserGroups,
  'usergroups.users.list': listUsersOfUserGroup,
  'reactions.add': addReaction,
  'reactions.remove': removeReaction,
  'reactions.get': getReactions,
  'pins.add': addPin,
  'pins.remove': removePin,
  'pins.list': listPins,
  'files.getUploadURLExternal': getUploadUrl,
  'files.completeUploadExternal': completeUpload,
  'files.info': fileInfo,
}

/** The token of a request: from its header, or from its arguments. @throws ProtocolRefusal `not_authed` when there is none. */
function tokenOf(request: FastifyRequest, args: Arguments): string {
  if (request.headers.authorization !== undefined) return bearerToken(request)
  return textOf(args, 'token', 'not_authed')
}

/** The arguments in the query and in the body. `libs/service` gives a request without a body an empty one. */
function argumentsOf({ query, body }: FastifyRequest): Arguments {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw slackRefusal('json_not_object')
  return { ...(query as Arguments), ...(body as Arguments) }
}
