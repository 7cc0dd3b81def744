import type { IncomingMessage } from 'node:http'
import type { Message } from '@parley/contract'
import type { FastifyInstance } from 'fastify'
import type * as Router from 'find-my-way'

/** The addresses of the web client's pages, in the router's notation. */
export const pageAddresses = [
  '/',
  '/sign-in',
  '/reset',
  '/c/*',
  '/search',
  '/threads',
  '/mentions',
  '/saved',
  '/preferences',
  '/profile',
  '/security',
  '/sessions',
  '/tokens',
  '/admin/people',
  '/admin/groups',
  '/admin/bots',
  '/admin/webhooks',
  '/admin/subscriptions',
  '/admin/commands',
  '/admin/sign-in',
  '/admin/scim',
  '/admin/settings',
  '/admin/audit',
  '/admin/export',
] as const

/** The address at which the web client opens a message. The ids are those of the API, and need no escaping. */
export const messageAddress = (
  appUrl: string,
  { id, channelId, threadId }: Pick<Message, 'id' | 'channelId' | 'threadId'>,
): string => `${appUrl}/c/${channelId}${threadId === null ? '' : `/t/${threadId}`}/m/${id}`

/**
 * The addresses of the API. Addresses below them belong to the API too, also unknown ones. `/admin/export`,
 * `/threads`, `/mentions` and `/saved` are not listed, because they are the addresses of pages too.
 */
export const apiAddresses = [
  '/admin/audit-log',
  '/admin/exports',
  '/admin/scim-clients',
  '/admin/sso',
  '/apps',
  '/auth',
  '/bots',
  '/channels',
  '/commands',
  '/config.json',
  '/consumers',
  '/conversations',
  '/docs',
  '/events',
  '/files',
  '/groups',
  '/health',
  '/hooks',
  '/messages',
  '/openapi.json',
  '/presence',
  '/scim',
  '/saved/ids',
  '/search/messages',
  '/server',
  '/slack',
  '/subscriptions',
  '/threads/read',
  '/users',
  '/webhooks',
] as const

/** Whether this address is of the API, or below one of its addresses. */
const isOfApi = (pathname: string) =>
  apiAddresses.some((address) => pathname.startsWith(address) && ['', '/'].includes(pathname.charAt(address.length)))

/** The path of a URL as a request has it. */
export const pathOf = (url: string) => url.split('?', 1)[0]!

/** The addresses of the files that the web client needs. */
export const pageFiles = ['/assets/*', '/icons/*', '/icon.svg', '/manifest.webmanifest', '/worker.js'] as const

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the response is the page or one of its files. They are the same for everybody and cost little, so no rate limit counts them. */
    isWebClient?: boolean
  }
}

/** Whether a request is of a browser that opens an address outside of the API. */
const opensPage = ({ headers, url = '' }: Pick<IncomingMessage, 'headers' | 'url'>): boolean =>
  headers.accept?.includes('text/html') === true && !isOfApi(pathOf(url))

/** An address that nothing has. */
const unknownAddress = '/not-found'

/**
 * The URL with which the router looks for a route. The router refuses an address with an invalid escape, such as /c/%. A browser that
 * opens one gets the response for an unknown address instead.
 */
export function routableUrl(request: Pick<IncomingMessage, 'headers' | 'url'>): string {
  const { url = '' } = request
  return opensPage(request) && !isDecodable(pathOf(url)) ? unknownAddress : url
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

type Handler = Router.Handler<Router.HTTPVersion.V1>

/**
 * Distinguishes pages from the API. A browser that opens an address asks for HTML. Some addresses are both of a page
 * and of the API, and a client that does not ask for HTML gets the response of the API. At all other addresses of the
 * API every client gets the response of the API.
 */
const navigation: Router.ConstraintStrategy<Router.HTTPVersion.V1> = {
  name: 'navigation',
  storage() {
    const handlers = new Map<unknown, Handler>()
    return {
      get: (key: unknown) => handlers.get(key) ?? null,
      set: (key: unknown, handler: Handler) => void handlers.set(key, handler),
    }
  },
  validate() {},
  // The router's types allow only texts. With undefined the router chooses a route without this constraint.
  deriveConstraint: (request) => (opensPage(request) ? 'page' : (undefined as unknown as string)),
  mustMatchWhenDerived: false,
}

/** The constraint of routes that respond only to a browser that opens their address. */
export const onlyForPages = { navigation: 'page' } as const

/** Adds the strategy for `onlyForPages` to the router of this app. */
export function distinguishPages(app: FastifyInstance) {
  if (!app.hasConstraintStrategy(navigation.name)) app.addConstraintStrategy(navigation)
}
