import { pageAddresses, pageFiles } from '@parley/service'

/** The services of the API. */
export const routedServices = ['auth', 'directory', 'messaging', 'admin', 'integrations', 'realtime'] as const
/** `web`, which serves the web client, is optional. */
export type RoutedService = (typeof routedServices)[number] | 'web'

/** The body of an upload and the response to a download may be large, so they are streamed. */
export type Transfer = 'upload' | 'download'

export interface Row {
  /** In the router's notation. A fixed part is more specific than a parameter, and a parameter is more specific than `*`. */
  path: string
  service: RoutedService
  /**
   * The token that the gateway checks. `access`: an access token in the header. `access or query`: an access token in
   * the header or in the query. `access or cookie`: an access token in the header, or none when the request has the
   * session cookie, which only the service can check. `own`: none, because the route needs no token, or one that only
   * the service can check.
   */
  token: 'access' | 'access or query' | 'access or cookie' | 'own'
  transfer?: Transfer
  /**
   * The service carries out a POST with an `Idempotency-Key` once, however often it is sent. So the gateway sends it to
   * another replica when the response is lost. Uploads are not `keyed`, because the gateway does not keep their bodies.
   */
  keyed?: true
  /** The protocol whose errors the service sends here. The gateway writes its own refusals in the same form. */
  refusals?: 'scim' | 'slack' | 'webhook'
  /** Only for a browser that opens the address. */
  isPage?: true
}

/** Whether the row is for event streams. The other routes of realtime are ordinary ones. */
export const isEventStream = ({ path }: Row) => path === '/events'

/** The service of each path. In solo all services are mounted on one app, and only the tests read this table. */
export const routingTable: readonly Row[] = [
  { path: '/config.json', service: 'auth', token: 'own' },
  { path: '/auth/*', service: 'auth', token: 'own' },
  { path: '/auth/me', service: 'auth', token: 'access' },
  { path: '/auth/logout', service: 'auth', token: 'access or cookie' },
  { path: '/auth/password', service: 'auth', token: 'access' },
  { path: '/auth/second-factors', service: 'auth', token: 'access' },
  { path: '/auth/totp', service: 'auth', token: 'access' },
  { path: '/auth/totp/confirm', service: 'auth', token: 'access' },
  { path: '/auth/passkeys', service: 'auth', token: 'access' },
  { path: '/auth/passkeys/:passkeyId', service: 'auth', token: 'access' },
  { path: '/auth/passkeys/registration', service: 'auth', token: 'access' },
  { path: '/auth/passkeys/authentication', service: 'auth', token: 'own' },
  { path: '/auth/passkeys/sign-in', service: 'auth', token: 'own' },
  { path: '/auth/sessions', service: 'auth', token: 'access' },
  { path: '/auth/sessions/:sessionId', service: 'auth', token: 'access' },
  { path: '/auth/tokens', service: 'auth', token: 'access' },
  { path: '/auth/tokens/:tokenId', service: 'auth', token: 'access' },
  { path: '/bots/:botId/tokens', service: 'auth', token: 'access' },
  { path: '/bots/:botId/tokens/:tokenId', service: 'auth', token: 'access' },
  { path: '/admin/scim-clients', service: 'auth', token: 'access' },
  { path: '/admin/scim-clients/:clientId', service: 'auth', token: 'access' },

  { path: '/users', service: 'directory', token: 'access' },
  { path: '/users/*', service: 'directory', token: 'access' },
  { path: '/users/add', service: 'directory', token: 'access', keyed: true },
  { path: '/users/me/avatar', service: 'directory', token: 'access', transfer: 'upload' },
  { path: '/scim/v2/*', service: 'directory', token: 'access', refusals: 'scim' },
  { path: '/bots', service: 'directory', token: 'access' },
  { path: '/bots/:botId', service: 'directory', token: 'access' },
  { path: '/groups', service: 'directory', token: 'access', keyed: true },
  { path: '/groups/:groupId', service: 'directory', token: 'access' },
  { path: '/groups/:groupId/members', service: 'directory', token: 'access' },
  { path: '/presence', service: 'directory', token: 'access' },
  { path: '/presence/me', service: 'directory', token: 'access' },
  { path: '/channels', service: 'directory', token: 'access', keyed: true },
  { path: '/channels/:channelId', service: 'directory', token: 'access' },
  { path: '/channels/:channelId/join', service: 'directory', token: 'access' },
  { path: '/channels/:channelId/leave', service: 'directory', token: 'access' },
  { path: '/channels/:channelId/members', service: 'directory', token: 'access' },

  { path: '/channels/:channelId/messages', service: 'messaging', token: 'access', keyed: true },
  { path: '/channels/:channelId/messages/image', service: 'messaging', token: 'access', transfer: 'upload' },
  {
    path: '/channels/:channelId/messages/image/:filename',
    service: 'messaging',
    token: 'access',
    transfer: 'download',
  },
  { path: '/channels/:channelId/pins', service: 'messaging', token: 'access' },
  { path: '/channels/:channelId/preferences', service: 'messaging', token: 'access' },
  { path: '/channels/:channelId/read', service: 'messaging', token: 'access' },
  { path: '/channels/:channelId/typing', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/pin', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/previews', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/reactions', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/saved', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/thread', service: 'messaging', token: 'access', keyed: true },
  { path: '/messages/:messageId/thread/follow', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/thread/read', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/thread/:replyId', service: 'messaging', token: 'access' },
  { path: '/messages/:messageId/thread/image', service: 'messaging', token: 'access', transfer: 'upload' },
  { path: '/conversations', service: 'messaging', token: 'access', keyed: true },
  { path: '/conversations/:conversationId', service: 'messaging', token: 'access' },
  { path: '/conversations/:conversationId/messages', service: 'messaging', token: 'access', keyed: true },
  { path: '/conversations/:conversationId/messages/:messageId', service: 'messaging', token: 'access' },
  { path: '/conversations/:conversationId/messages/image', service: 'messaging', token: 'access', transfer: 'upload' },
  {
    path: '/conversations/:conversationId/messages/image/:filename',
    service: 'messaging',
    token: 'access',
    transfer: 'download',
  },
  { path: '/conversations/:conversationId/preferences', service: 'messaging', token: 'access' },
  { path: '/conversations/:conversationId/read', service: 'messaging', token: 'access' },
  { path: '/conversations/:conversationId/typing', service: 'messaging', token: 'access' },
  { path: '/search/messages', service: 'messaging', token: 'access' },
  { path: '/mentions', service: 'messaging', token: 'access' },
  { path: '/saved', service: 'messaging', token: 'access' },
  { path: '/saved/ids', service: 'messaging', token: 'access' },
  { path: '/threads', service: 'messaging', token: 'access' },
  { path: '/threads/read', service: 'messaging', token: 'access' },
  { path: '/files', service: 'messaging', token: 'access', transfer: 'upload' },
  { path: '/files/binary', service: 'messaging', token: 'access', transfer: 'upload' },
  { path: '/files/:filename', service: 'messaging', token: 'access', transfer: 'download' },
  { path: '/slack/files', service: 'messaging', token: 'own', transfer: 'upload' },
  { path: '/webhooks/:webhookId/messages', service: 'messaging', token: 'own', keyed: true },
  { path: '/apps/:botId/messages', service: 'messaging', token: 'own', keyed: true },
  { path: '/apps/:botId/messages/:messageId', service: 'messaging', token: 'own' },

  { path: '/server/settings', service: 'admin', token: 'access' },
  { path: '/webhooks', service: 'admin', token: 'access', keyed: true },
  { path: '/webhooks/:webhookId', service: 'admin', token: 'access' },
  { path: '/webhooks/:webhookId/take-over', service: 'admin', token: 'access' },
  { path: '/webhooks/:webhookId/url', service: 'admin', token: 'access' },
  { path: '/admin/export', service: 'admin', token: 'access', transfer: 'download' },
  { path: '/admin/exports', service: 'admin', token: 'access', keyed: true },
  { path: '/admin/exports/:exportId', service: 'admin', token: 'access' },
  { path: '/admin/exports/:exportId/download', service: 'admin', token: 'access', transfer: 'download' },
  { path: '/admin/audit-log', service: 'admin', token: 'access' },
  { path: '/admin/sso', service: 'auth', token: 'access' },
  { path: '/admin/sso/:providerId/test', service: 'auth', token: 'access' },

  { path: '/hooks/:webhookId/:secret', service: 'integrations', token: 'own', refusals: 'webhook' },
  { path: '/hooks/responses/:responseId/:secret', service: 'integrations', token: 'own', refusals: 'webhook' },
  { path: '/commands', service: 'integrations', token: 'access' },
  { path: '/commands/:commandId', service: 'integrations', token: 'access' },
  { path: '/channels/:channelId/commands', service: 'integrations', token: 'access' },
  { path: '/conversations/:conversationId/commands', service: 'integrations', token: 'access' },
  { path: '/messages/:messageId/actions', service: 'integrations', token: 'access' },
  { path: '/subscriptions', service: 'integrations', token: 'access' },
  { path: '/subscriptions/:subscriptionId', service: 'integrations', token: 'access' },
  { path: '/subscriptions/:subscriptionId/deliveries', service: 'integrations', token: 'access' },
  { path: '/subscriptions/:subscriptionId/replay', service: 'integrations', token: 'access' },
  { path: '/slack/api/:method', service: 'integrations', token: 'own', refusals: 'slack' },

  { path: '/consumers', service: 'realtime', token: 'access' },
  { path: '/consumers/:name', service: 'realtime', token: 'access' },
  { path: '/events', service: 'realtime', token: 'access or query' },

  ...pageAddresses.map((path): Row => ({ path, service: 'web', token: 'own', isPage: true })),
  ...pageFiles.map((path): Row => ({ path, service: 'web', token: 'own' })),
  // All other addresses. The web client redirects to a page, or says that there is no such page.
  { path: '/*', service: 'web', token: 'own', isPage: true },
]
