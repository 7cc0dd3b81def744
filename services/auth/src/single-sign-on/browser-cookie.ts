import type { FastifyReply, FastifyRequest } from 'fastify'
import { stateSeconds } from './sign-in-state.ts'

/** A protocol of single sign-on, and the address to which the provider sends the browser back. */
export interface Callback {
  protocol: 'oauth' | 'saml'
  url: string
}

/**
 * Sets the cookie that ties a sign-in to the browser that started it. Each sign-in has its own name, so two tabs do not
 * disturb each other. On https it is a `__Host-` cookie, so no neighbouring domain can set one.
 */
export function setBrowserCookie(reply: FastifyReply, callback: Callback, state: string, browserSecret: string): void {
  reply.setCookie(nameOf(callback, state), browserSecret, { ...attributesOf(callback), maxAge: stateSeconds })
}

/** Returns the secret in the cookie of a started sign-in, and deletes the cookie. Undefined when the browser did not send it. */
export function takeBrowserCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  callback: Callback,
  state: string,
): string | undefined {
  const name = nameOf(callback, state)
  const browserSecret = request.cookies[name]
  if (browserSecret !== undefined) reply.clearCookie(name, attributesOf(callback))
  return browserSecret
}

const isSecure = ({ url }: Callback) => new URL(url).protocol === 'https:'

const nameOf = (callback: Callback, state: string) =>
  `${isSecure(callback) ? '__Host-' : ''}parley_${callback.protocol}_${state.slice(0, 8)}`

/**
 * OAuth needs Lax, because a link of the provider's page leads back. A SAML provider's page posts from another site, and
 * then the browser sends the cookie only with `SameSite=None`, which needs https. Without https the attribute is left
 * out: on a developer's machine, browsers then send the cookie during its first minutes.
 */
function attributesOf(callback: Callback) {
  const secure = isSecure(callback)
  const forPost = secure ? ('none' as const) : false
  return { path: '/', httpOnly: true, secure, sameSite: callback.protocol === 'oauth' ? ('lax' as const) : forPost }
}
