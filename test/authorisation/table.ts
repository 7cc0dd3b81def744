/** The credentials that a route requires. */
export type Demand =
  /** Nothing: a token has no effect. The route may have its own kind of credentials. */
  | 'none'
  /** An access token of a live session. */
  | 'user'
  /** An access token of a live session. The route's own statement checks the session. */
  | 'token'
  /** An access token of a live session, in the header or in the query. */
  | 'stream'
  /** An access token of an admin. */
  | 'admin'

/** The credentials of each route, as the interface requires. A new route needs a row here, or the tests fail. */
export const table: Record<string, Demand> = {
  'GET /': 'none',
  'GET /docs': 'none',
  'GET /openapi.json': 'none',
  'GET /health': 'none',
  'GET /health/live': 'none',
  'GET /health/ready': 'none',

  'GET /config.json': 'none',
  'GET /auth/config': 'none',
  'POST /auth/dev-login': 'none',
  'POST /auth/login': 'none',
  'POST /auth/verify': 'none',
  'POST /auth/password-login': 'none',
  'POST /auth/register': 'none',
  'POST /auth/request-password-reset': 'none',
  'POST /auth/setup-password': 'none',
  'PUT /auth/password': 'user',
  'GET /auth/oauth/providers': 'none',
  'GET /auth/oauth/{providerId}': 'none',
  'GET /auth/oauth/{providerId}/callback': 'none',
  'POST /auth/oauth/{providerId}/backchannel-logout': 'none',
  'GET /auth/saml/{providerId}': 'none',
  'POST /auth/saml/{providerId}/acs': 'none',
  'GET /auth/saml/{providerId}/metadata': 'none',
  'POST /auth/refresh': 'none',
  'POST /auth/mfa': 'none',
  'GET /auth/second-factors': 'user',
  'POST /auth/totp': 'user',
  'POST /auth/totp/confirm': 'user',
  'DELETE /auth/totp': 'user',
  'POST /auth/passkeys/registration': 'user',
  'POST /auth/passkeys': 'user',
  'GET /auth/passkeys': 'user',
  'DELETE /auth/passkeys/{passkeyId}': 'user',
  'POST /auth/passkeys/authentication': 'none',
  'POST /auth/passkeys/sign-in': 'none',
  'POST /auth/logout': 'user',
  'GET /auth/me': 'user',
  'GET /auth/sessions': 'user',
  'DELETE /auth/sessions': 'user',
  'DELETE /auth/sessions/{sessionId}': 'user',
  'GET /auth/tokens': 'user',
  'POST /auth/tokens': 'user',
  'DELETE /auth/tokens/{tokenId}': 'user',

  'GET /users': 'user',
  'POST /users/add': 'admin',
  'POST /users/{id}/invite': 'admin',
  'POST /users/{id}/reset-password': 'admin',
  'PUT /users/{id}/role': 'admin',
  'PUT /users/{id}/active': 'admin',
  'GET /users/{id}/sessions': 'admin',
  'DELETE /users/{id}/sessions': 'admin',
  'DELETE /users/{id}/sessions/{sessionId}': 'admin',
  'GET /users/{id}/tokens': 'admin',
  'DELETE /users/{id}/tokens/{tokenId}': 'admin',
  'DELETE /users/{id}/second-factors': 'admin',
  'DELETE /users/{id}': 'admin',
  'POST /users/exit': 'user',
  'PUT /users/me': 'user',
  'GET /users/me/notifications': 'user',
  'PUT /users/me/notifications': 'user',
  'PUT /users/me/status': 'user',
  'DELETE /users/me/status': 'user',
  'PUT /users/me/avatar': 'user',
  'DELETE /users/me/avatar': 'user',
  'GET /users/{id}/avatar/{version}': 'user',

  'GET /admin/scim-clients': 'admin',
  'POST /admin/scim-clients': 'admin',
  'DELETE /admin/scim-clients/{clientId}': 'admin',

  'GET /bots': 'admin',
  'POST /bots': 'admin',
  'PUT /bots/{botId}': 'admin',
  'DELETE /bots/{botId}': 'admin',
  'GET /bots/{botId}/tokens': 'admin',
  'POST /bots/{botId}/tokens': 'admin',
  'DELETE /bots/{botId}/tokens/{tokenId}': 'admin',

  'GET /groups': 'user',
  'POST /groups': 'admin',
  'PUT /groups/{groupId}': 'admin',
  'DELETE /groups/{groupId}': 'admin',
  'GET /groups/{groupId}/members': 'user',
  'PUT /groups/{groupId}/members': 'admin',

  'GET /presence': 'user',
  'PUT /presence/me': 'user',

  'GET /channels': 'user',
  'POST /channels': 'user',
  'GET /channels/{channelId}': 'user',
  'PUT /channels/{channelId}': 'user',
  'DELETE /channels/{channelId}': 'user',
  'GET /channels/{channelId}/members': 'user',
  'POST /channels/{channelId}/join': 'user',
  'POST /channels/{channelId}/leave': 'user',

  'GET /channels/{channelId}/messages': 'user',
  'POST /channels/{channelId}/messages': 'token',
  'PUT /channels/{channelId}/read': 'user',
  'PUT /channels/{channelId}/preferences': 'user',
  'PUT /channels/{channelId}/typing': 'user',
  'GET /messages/{messageId}': 'user',
  'PUT /messages/{messageId}': 'user',
  'DELETE /messages/{messageId}': 'user',
  'POST /messages/{messageId}/reactions': 'user',
  'DELETE /messages/{messageId}/reactions': 'user',
  'POST /messages/{messageId}/pin': 'user',
  'DELETE /messages/{messageId}/pin': 'user',
  'DELETE /messages/{messageId}/previews': 'user',
  'GET /channels/{channelId}/pins': 'user',
  'GET /messages/{messageId}/thread': 'user',
  'POST /messages/{messageId}/thread': 'user',
  'PUT /messages/{messageId}/thread/follow': 'user',
  'PUT /messages/{messageId}/thread/read': 'user',
  'PUT /messages/{messageId}/thread/{replyId}': 'user',
  'DELETE /messages/{messageId}/thread/{replyId}': 'user',

  'GET /mentions': 'user',

  'GET /saved': 'user',
  'GET /saved/ids': 'user',
  'GET /messages/{messageId}/saved': 'user',
  'PUT /messages/{messageId}/saved': 'user',

  'GET /threads': 'user',
  'PUT /threads/read': 'user',

  'GET /conversations': 'user',
  'GET /conversations/{conversationId}': 'user',
  'POST /conversations': 'user',
  'GET /conversations/{conversationId}/messages': 'user',
  'POST /conversations/{conversationId}/messages': 'token',
  'PUT /conversations/{conversationId}/messages/{messageId}': 'user',
  'DELETE /conversations/{conversationId}/messages/{messageId}': 'user',
  'PUT /conversations/{conversationId}/read': 'user',
  'PUT /conversations/{conversationId}/preferences': 'user',
  'PUT /conversations/{conversationId}/typing': 'user',

  'GET /search/messages': 'user',

  'POST /files': 'user',
  'POST /files/binary': 'user',
  'GET /files/{filename}': 'user',
  'POST /channels/{channelId}/messages/image': 'user',
  'GET /channels/{channelId}/messages/image/{filename}': 'user',
  'POST /messages/{messageId}/thread/image': 'user',
  'POST /conversations/{conversationId}/messages/image': 'user',
  'GET /conversations/{conversationId}/messages/image/{filename}': 'user',

  'POST /webhooks/{webhookId}/messages': 'none',

  'GET /webhooks': 'admin',
  'POST /webhooks': 'admin',
  'DELETE /webhooks/{webhookId}': 'admin',
  'POST /webhooks/{webhookId}/take-over': 'admin',
  'POST /webhooks/{webhookId}/url': 'admin',
  'GET /server/settings': 'user',
  'PUT /server/settings': 'admin',
  'POST /hooks/{webhookId}/{secret}': 'none',
  'GET /slack/api/{method}': 'none',
  'POST /slack/api/{method}': 'none',
  'POST /slack/files': 'none',

  'GET /admin/audit-log': 'admin',
  'GET /admin/sso': 'admin',
  'POST /admin/sso/{providerId}/test': 'admin',
  'GET /admin/export': 'admin',
  'POST /admin/exports': 'admin',
  'GET /admin/exports/{exportId}': 'admin',
  'GET /admin/exports/{exportId}/download': 'admin',

  'GET /consumers': 'user',
  'PUT /consumers/{name}': 'user',
  'DELETE /consumers/{name}': 'user',
  'GET /subscriptions': 'user',
  'POST /subscriptions': 'user',
  'GET /subscriptions/{subscriptionId}': 'user',
  'PUT /subscriptions/{subscriptionId}': 'user',
  'DELETE /subscriptions/{subscriptionId}': 'user',
  'POST /subscriptions/{subscriptionId}/replay': 'user',
  'GET /subscriptions/{subscriptionId}/deliveries': 'user',
  'GET /commands': 'user',
  'POST /commands': 'admin',
  'PUT /commands/{commandId}': 'admin',
  'DELETE /commands/{commandId}': 'admin',
  'POST /channels/{channelId}/commands': 'user',
  'POST /conversations/{conversationId}/commands': 'user',
  'POST /messages/{messageId}/actions': 'user',
  'POST /hooks/responses/{responseId}/{secret}': 'none',
  'POST /apps/{botId}/messages': 'none',
  'PUT /apps/{botId}/messages/{messageId}': 'none',
  'DELETE /apps/{botId}/messages/{messageId}': 'none',
  'GET /events': 'stream',
}

/** Routes that no API token may call: they sign in, or change the way in which somebody signs in. */
const onlySessions = new Set([
  'POST /auth/logout',
  'GET /auth/sessions',
  'DELETE /auth/sessions',
  'DELETE /auth/sessions/{sessionId}',
  'GET /auth/tokens',
  'POST /auth/tokens',
  'PUT /auth/password',
  'GET /auth/second-factors',
  'POST /auth/totp',
  'POST /auth/totp/confirm',
  'DELETE /auth/totp',
  'POST /auth/passkeys/registration',
  'POST /auth/passkeys',
  'GET /auth/passkeys',
  'DELETE /auth/passkeys/{passkeyId}',
  'DELETE /auth/tokens/{tokenId}',
  'POST /users/exit',
  'POST /admin/scim-clients',
  'POST /bots',
  'POST /bots/{botId}/tokens',
  'POST /users/{id}/reset-password',
  'DELETE /users/{id}/second-factors',
])

/** Routes for bots. People are refused (403), unless an admin acts for a bot. The tests of these routes check who is accepted. */
export const forBots = new Set([
  'GET /consumers',
  'PUT /consumers/{name}',
  'DELETE /consumers/{name}',
  'GET /subscriptions',
  'POST /subscriptions',
])

/** The scope that an API token needs for a route. */
export function scopeFor(name: string): 'none' | 'read' | 'write' | 'admin' {
  if (onlySessions.has(name)) return 'none'
  if (table[name] === 'admin') return 'admin'
  return name.startsWith('GET ') ? 'read' : 'write'
}

/** The routes for a session without the second factor that `auth.mfa` requires: setting one up, and signing out. */
export const allowedBeforeEnrolment: ReadonlySet<string> = new Set([
  'GET /auth/second-factors',
  'POST /auth/totp',
  'POST /auth/totp/confirm',
  'POST /auth/passkeys/registration',
  'POST /auth/passkeys',
  'GET /auth/passkeys',
  'POST /auth/logout',
])

/** Requests that are refused for guests, even in a channel of which they are a member. */
export const refusedToGuests: ReadonlySet<string> = new Set([
  'POST /channels',
  'PUT /channels/{channelId}',
  'DELETE /channels/{channelId}',
  'GET /groups',
  'GET /groups/{groupId}/members',
  'PUT /messages/{messageId}',
  'DELETE /messages/{messageId}',
  'DELETE /messages/{messageId}/previews',
])

/**
 * Requests that are refused for a bot with the scope `write`, in addition to those that need another scope: they
 * concern data of other people, or something that bots do not do.
 */
export const refusedToBots: ReadonlySet<string> = new Set([
  'PUT /channels/{channelId}',
  'DELETE /channels/{channelId}',
  'PUT /messages/{messageId}',
  'DELETE /messages/{messageId}',
  'DELETE /messages/{messageId}/previews',
  'PUT /messages/{messageId}/thread/follow',
  'POST /subscriptions',
])
