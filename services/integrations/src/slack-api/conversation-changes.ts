import { type Channel, lengthOf, limits } from '@parley/contract'
import { slackRefusal } from '@parley/service'
import { channelPath } from '../api-paths.ts'
import { isLeftOut } from '../slack-objects/slack-content.ts'
import { asSlackChannel } from '../slack-objects/slack-objects.ts'
import { findMembersAmong } from '../slack-objects/slack-references.queries.ts'
import { type Arguments, booleanOf, listOf, type SlackCall, textOf } from './slack-call.ts'
import { canReadChannel, findOnlyChannelId } from './targets.ts'
import { findUser, findUsers } from './users.ts'

/** `conversations.create`: the caller is the creator, and so may change the channel later. */
export async function createChannel({ ask, args, caller }: SlackCall) {
  const body = { name: nameOf(args), isPrivate: booleanOf(args, 'is_private') }
  const request = { service: 'directory', method: 'POST', path: '/channels', body, isKeyed: true } as const
  const { channel } = await ask(request, { ...nameErrors, 403: 'user_is_restricted' })
  return answerOf(caller, channel)
}

/** `conversations.rename` */
export async function renameChannel(call: SlackCall) {
  const name = nameOf(call.args)
  const channel = await findOnlyChannelId(call)
  const body = { name }
  return answerOf(call.caller, await change(call, { channel, body, errorCodes: nameErrors, refused: 'not_authorized' }))
}

/** `conversations.setTopic`. An empty topic removes it. */
export async function setTopic(call: SlackCall) {
  const topic = textOf(call.args, 'topic')
  if (isLeftOut(call.args.topic)) throw slackRefusal('invalid_arguments', 'topic is missing')
  if (lengthOf(topic) > limits.topic) throw slackRefusal('too_long', `topic has at most ${limits.topic} characters`)
  const channel = await findOnlyChannelId(call)
  return answerOf(call.caller, await change(call, { channel, body: { topic } }))
}

/** Slack takes as many in one call of `conversations.invite`. */
const maxInvited = 1_000

/**
 * `conversations.invite`. As at Slack, nobody is added when one of the people cannot be, unless `force` is given. The response says who
 * could not be added, and why.
 */
export async function invite(call: SlackCall) {
  const { deps, args, caller } = call
  const ids = [...new Set(listOf(textOf(args, 'users')))]
  if (ids.length === 0) throw slackRefusal('no_user', 'users is missing')
  if (ids.length > maxInvited) throw slackRefusal('too_many_users', `users has at most ${maxInvited} ids`)
  const channel = await findOnlyChannelId(call)
  const visible = await findUsers(call, ids)
  // Who may not read the channel is not told who is in it.
  const isReadable = await canReadChannel(call, channel)
  const members = isReadable ? await findMembersAmong(deps.db, channel, [...visible.keys()]) : new Set()
  const errorOf = (id: string) => {
    if (id === caller.userId) return 'cant_invite_self'
    if (!visible.has(id)) return 'user_not_found'
    return members.has(id) ? 'already_in_channel' : undefined
  }
  const errors = ids.flatMap((user) => {
    const error = errorOf(user)
    return error === undefined ? [] : [{ user, ok: false, error }]
  })
  const addMembers = ids.filter((id) => errorOf(id) === undefined)
  const [first] = errors
  if (first && (addMembers.length === 0 || !booleanOf(args, 'force')))
    throw slackRefusal(first.error, undefined, { errors })
  const changed = await change(call, { channel, body: { addMembers }, errorCodes: { 400: 'user_not_found' } })
  return { ...answerOf(caller, changed), ...(first && { errors }) }
}

/** `conversations.kick`. The creator of a channel, and people who are members through a group, stay. */
export async function kick(call: SlackCall) {
  const { deps, args, caller } = call
  const { id: user } = await findUser(call, textOf(args, 'user', 'user_not_found'))
  if (user === caller.userId) throw slackRefusal('cant_kick_self', 'conversations.leave is for yourself')
  const channel = await findOnlyChannelId(call)
  const members = await findMembersAmong(deps.db, channel, [user])
  const changed = await change(call, { channel, body: { removeMembers: [user] } })
  if (!members.has(user)) throw slackRefusal('not_in_channel', 'user is not a member of this channel')
  if (changed.members.includes(user))
    throw slackRefusal('restricted_action', 'The creator of a channel and people of its groups stay members')
  return {}
}

/** `conversations.leave` */
export async function leave(call: SlackCall) {
  const { deps, ask, caller } = call
  const channel = await findOnlyChannelId(call)
  const members = await findMembersAmong(deps.db, channel, [caller.userId])
  const request = { service: 'directory', method: 'POST', path: `${channelPath(channel)}/leave` } as const
  await ask(request, { 400: 'restricted_action' })
  return members.has(caller.userId) ? {} : { not_in_channel: true }
}

const nameErrors = { duplicate: 'name_taken', 400: 'invalid_name' }

/** The argument `name` of a channel. @throws ProtocolRefusal when it is missing or too long. */
function nameOf(args: Arguments): string {
  const name = textOf(args, 'name', 'invalid_name_required')
  if (lengthOf(name) > limits.channelName)
    throw slackRefusal('invalid_name_maxlength', `name has at most ${limits.channelName} characters`)
  return name
}

interface Change {
  channel: string
  body: object
  errorCodes?: Record<number | string, string>
  /** The code for callers who may read the channel, but not change it. */
  refused?: string
}

/** Changes a channel, for its creator or an admin. */
async function change(
  call: SlackCall,
  { channel: id, body, errorCodes = {}, refused = 'restricted_action' }: Change,
): Promise<Channel> {
  const forbidden = (await canReadChannel(call, id)) ? refused : 'not_in_channel'
  const request = { service: 'directory', method: 'PUT', path: channelPath(id), body } as const
  return (await call.ask(request, { ...errorCodes, 403: forbidden })).channel
}

const answerOf = ({ userId }: SlackCall['caller'], channel: Channel) => ({
  channel: asSlackChannel({ ...channel, isMember: channel.members.includes(userId) }),
})
