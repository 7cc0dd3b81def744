import { readCustomStatus } from '@parley/accounts'
import { ApiError, type CustomStatus, lengthOf, limits, type User } from '@parley/contract'
import { slackRefusal } from '@parley/service'
import { readEmoji } from '../slack-objects/read-emoji.ts'
import { asSlackUser } from '../slack-objects/slack-objects.ts'
import { jsonOf, type SlackCall, textOf } from './slack-call.ts'
import { findUser } from './users.ts'

/** `users.profile.get` */
export async function getProfile(call: SlackCall) {
  const user = await findUser(call, textOf(call.args, 'user') || call.caller.userId)
  return { profile: asSlackUser(user).profile }
}

/** `users.profile.set`: the full name, the title and the custom status of the caller. Other fields are ignored. */
export async function setProfile(call: SlackCall) {
  const { ask, args, caller, deps } = call
  const userId = textOf(args, 'user')
  if (userId !== '' && userId !== caller.userId) throw slackRefusal('not_admin')
  const before = await findUser(call, caller.userId)
  const { real_name, title, ...rest } = readProfile(call)
  const status = changedStatus(rest, before.customStatus)
  // The status is the second request. It is checked before the first one, so that a refused status changes nothing.
  if (status) checkStatus(status, deps.clock())

  // Programs also send the whole profile that they have read. Somebody without a full name has their user name there,
  // and a directory may provide both texts.
  const { profile: shown } = asSlackUser(before)
  const body = {
    ...(real_name !== shown.real_name && { displayName: real_name }),
    ...(title !== shown.title && { title }),
  }
  if ((body.displayName ?? body.title) !== undefined) {
    await ask(
      { service: 'directory', method: 'PUT', path: '/users/me', body },
      { 400: 'invalid_profile', 409: 'not_allowed' },
    )
  }
  const path = '/users/me/status'
  if (status === null) await ask({ service: 'directory', method: 'DELETE', path })
  else if (status) await ask({ service: 'directory', method: 'PUT', path, body: status }, { 400: 'invalid_profile' })
  return getProfile({ ...call, args: {} })
}

interface Profile {
  real_name?: string
  title?: string
  status_text?: string
  status_emoji?: string
  /** Seconds. 0: the status stays. */
  status_expiration?: number
}

/** The fields to set, in `profile`, or one field as `name` and `value`. @throws ProtocolRefusal `invalid_profile`. */
function readProfile({ args }: SlackCall): Profile {
  const given = jsonOf(args, 'profile', 'invalid_profile') ?? { [textOf(args, 'name', 'invalid_profile')]: args.value }
  if (typeof given !== 'object' || given === null) throw slackRefusal('invalid_profile')
  const fields = given as Record<string, unknown>
  const profile: Profile = {}
  for (const name of ['real_name', 'title', 'status_text', 'status_emoji'] as const) {
    const value = fields[name] ?? undefined
    if (value === undefined) continue
    if (typeof value !== 'string') throw slackRefusal('invalid_profile')
    profile[name] = value.toWellFormed()
  }
  if (fields.status_expiration != null) {
    const seconds = Number(fields.status_expiration)
    if (!Number.isSafeInteger(seconds) || seconds < 0)
      throw slackRefusal('profile_status_set_failed_not_valid_expiration')
    profile.status_expiration = seconds
  }
  return profile
}

/**
 * The custom status after a change of some fields: null when nothing is left of it, undefined when no field of it is
 * given. As at Slack, a new text or emoji without an expiration stays for good.
 * @throws ProtocolRefusal when the emoji is unknown, or the text is too long.
 */
function changedStatus(
  { status_text: text, status_emoji: name, status_expiration: seconds }: Profile,
  before: User['customStatus'],
): CustomStatus | null | undefined {
  if (text === undefined && name === undefined && seconds === undefined) return undefined
  const emoji = name === undefined ? (before?.emoji ?? null) : emojiOf(name)
  const status = { text: text ?? before?.text ?? '', emoji, expiresAt: seconds ? seconds * 1_000 : null }
  if (lengthOf(status.text) > limits.statusText) throw slackRefusal('profile_status_set_failed_too_long')
  return status.text.trim() === '' && emoji === null ? null : status
}

function checkStatus(status: CustomStatus, now: number) {
  try {
    readCustomStatus(status, now)
  } catch (error) {
    throw error instanceof ApiError ? slackRefusal('invalid_profile') : error
  }
}

function emojiOf(name: string): string | null {
  if (name === '') return null
  // Some programs leave out the colons.
  const emoji = readEmoji(name) ?? readEmoji(`:${name}:`)
  if (emoji === undefined) throw slackRefusal('profile_status_set_failed_not_valid_emoji')
  return emoji
}
