import { createHmac } from 'node:crypto'
import { createOneTimeLinks } from '@parley/accounts'
import { createApiToken } from '@parley/identity'
import { Person } from '@parley/test'
import type { TestEnvironment } from '@parley/test/test-environment'

/**
 * Credentials that must be refused, by name: the text after `Bearer`, or undefined for no header. Each is valid in all
 * respects except one.
 */
export async function badCredentials({
  deps,
  people,
  channel,
}: TestEnvironment): Promise<Map<string, string | undefined>> {
  const { db, config, tokens, clock } = deps
  const { ada, ann, bob, cat } = people
  const [header, payload] = ann.token!.split('.')
  const { sub: userId, sid: sessionId } = JSON.parse(Buffer.from(payload!, 'base64url').toString())
  const signedBy = (secret: string) => createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
  const unsignedOfOurs = Buffer.from(header!, 'base64url').toString().replace('HS256', 'none')
  const link = await db
    .transaction()
    .execute((trx) =>
      createOneTimeLinks(config).issue(trx, { purpose: 'login', email: 'ann@example.com', userId, now: clock() }),
    )
  const bot = await ada.post('/webhooks', { name: 'a bot', channelId: channel.general.id })
  const apiToken = await ann.post('/auth/tokens', { name: 'deleted', scopes: ['write'] })
  await ann.delete(`/auth/tokens/${apiToken.body.id}`)
  const { id: robotId } = (await ada.post('/bots', { userName: 'a stopped bot' })).body.bot
  const ofRobot = await ada.post(`/bots/${robotId}/tokens`, { name: 'of a bot', scopes: ['write'] })
  await ada.put(`/users/${robotId}/active`, { isActive: false })
  const scim = await ada.post('/admin/scim-clients', { name: 'a directory' })
  await bob.post('/auth/logout', {})
  await ada.delete(`/users/${cat.id}`)

  return new Map([
    ['no token', undefined],
    ['an expired token', await tokens.issueAccess({ userId, sessionId, seconds: -1 })],
    ['a wrong signature', `${header}.${payload}.${signedBy('another-secret-with-more-than-32-characters')}`],
    ['no signature', `${header}.${payload}.`],
    ['alg none', `${unsigned}.${payload}.`],
    ['alg none under our key id', `${Buffer.from(unsignedOfOurs).toString('base64url')}.${payload}.`],
    ['the token of an ended session', bob.token],
    ['the token of a removed user', cat.token],
    ['the token of a deactivated bot', ofRobot.body.token],
    ...(config.auth.authMode === 'dev' ? await deactivatedCredentials(ada) : []),
    ['the token of a SCIM client', scim.body.token],
    ['the token of somebody else’s session', await tokens.issueAccess({ userId: ada.id, sessionId, seconds: 900 })],
    ['a deleted API token', apiToken.body.token],
    ['an API token of ours that was never made', createApiToken({ tokenId: sessionId, userId }).token],
    ['a refresh token', ann.refreshToken],
    ['a one-time token', new URL(link).searchParams.get('token')!],
    ['the token of a webhook', bot.body.webhook.token],
  ])
}

/** The credentials of a deactivated person. */
async function deactivatedCredentials(admin: Person): Promise<[string, string | undefined][]> {
  const dan = await Person.signIn(admin.baseUrl, 'dan@example.com')
  const apiToken = await dan.post('/auth/tokens', { name: 'of dan', scopes: ['write'] })
  await admin.put(`/users/${dan.id}/active`, { isActive: false })
  return [
    ['the token of a deactivated person', dan.token],
    ['an API token of a deactivated person', apiToken.body.token],
  ]
}
