/** What a route demands of whoever calls it. */
export type Demand =
  /** Nothing: a token of ours changes nothing. The route may look at credentials of its own. */
  | 'none'
  /** An access token of a live session. */
  | 'user'
  /** The same; the route's own statement looks at the session. */
  | 'token'
  /** The same; the token may stand in the query instead. */
  | 'stream'
  /** An access token of an admin. */
  | 'admin'

/** Who may call what, as the interface says. A new route gets its row here, or the tests fail. */
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
  'GET /auth/oauth/providers': 'none',
  'GET /auth/oauth/{providerId}': 'none',
  'GET /auth/oauth/{providerId}/callback': 'none',
  'POST /auth/refresh': 'none',
  'POST /auth/logout': 'user',
  'GET /auth/me': 'user',
  'GET /auth/sessions': 'user',
  'DELETE /auth/sessions': 'user',
  'DELETE /auth/sessions/{sessionId}': 'user',

  'GET /users': 'user',
  'POST /users/add': 'admin',
  'POST /users/{id}/invite': 'admin',
  'POST /users/{id}/reset-password': 'admin',
  'PUT /users/{id}/role': 'admin',
  'DELETE /users/{id}': 'admin',
  'POST /users/exit': 'user',
  'PUT /users/me': 'user',
  'PUT /users/me/avatar': 'user',
  'DELETE /users/me/avatar': 'user',
  'GET /users/{id}/avatar/{version}': 'user',

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
  'PUT /channels/{channelId}/typing': 'user',
  'GET /messages/{messageId}': 'user',
  'PUT /messages/{messageId}': 'user',
  'DELETE /messages/{messageId}': 'user',
  'POST /messages/{messageId}/reactions': 'user',
  'DELETE /messages/{messageId}/reactions': 'user',
  'POST /messages/{messageId}/pin': 'user',
  'DELETE /messages/{messageId}/pin': 'user',
  'GET /channels/{channelId}/pins': 'user',
  'GET /messages/{messageId}/thread': 'user',
  'POST /messages/{messageId}/thread': 'user',
  'PUT /messages/{messageId}/thread/{replyId}': 'user',
  'DELETE /messages/{messageId}/thread/{replyId}': 'user',

  'GET /conversations': 'user',
  'GET /conversations/{conversationId}': 'user',
  'POST /conversations': 'user',
  'GET /conversations/{conversationId}/messages': 'user',
  'POST /conversations/{conversationId}/messages': 'token',
  'PUT /conversations/{conversationId}/messages/{messageId}': 'user',
  'DELETE /conversations/{conversationId}/messages/{messageId}': 'user',
  'PUT /conversations/{conversationId}/read': 'user',
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
  'GET /server/settings': 'user',
  'PUT /server/settings': 'admin',
  'GET /admin/audit-log': 'admin',
  'GET /admin/export': 'admin',
  'POST /admin/exports': 'admin',
  'GET /admin/exports/{exportId}': 'admin',
  'GET /admin/exports/{exportId}/download': 'admin',

  'GET /events': 'stream',
}
