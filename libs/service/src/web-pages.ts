import type { FastifyInstance } from 'fastify'
import type * as Router from 'find-my-way'

/** Addresses that the web client shows, as the router writes them. */
export const pageAddresses = [
  '/',
  '/sign-in',
  '/reset',
  '/c/*',
  '/search',
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

/** Addresses of the files that the web client needs. */
export const pageFiles = ['/assets/*', '/icons/*', '/icon.svg', '/manifest.webmanifest', '/worker.js'] as const

type Handler = Router.Handler<Router.HTTPVersion.V1>

/**
 * A browser that opens an address asks for HTML. Some addresses of pages are addresses of the API too, and a client that does not
 * ask for HTML gets the API's answer.
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
  // The router's types know only texts. With undefined a route without this constraint is chosen.
  deriveConstraint: ({ headers }) =>
    headers.accept?.includes('text/html') ? 'page' : (undefined as unknown as string),
  mustMatchWhenDerived: false,
}

/** The constraint of routes that only a browser gets which opens their address. */
export const onlyForPages = { navigation: 'page' } as const

/** Makes the router of this app know `onlyForPages`. */
export function distinguishPages(app: FastifyInstance) {
  if (!app.hasConstraintStrategy(navigation.name)) app.addConstraintStrategy(navigation)
}
