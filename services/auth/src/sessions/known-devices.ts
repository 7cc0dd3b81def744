import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '@parley/config'
import type { UserRow } from '@parley/database'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authCookieAttributes } from './session-cookie.ts'

type Account = Pick<UserRow, 'id' | 'email' | 'deviceGeneration'>

/** Browsers keep a cookie at most this long. */
const keptSeconds = 400 * 86_400

/**
 * Recognises the devices from which somebody has signed in to an account before. Each sign-in sets a cookie for this.
 * The cookie gives no access. It only gives the device its own limit of wrong passwords, after "Slow Down Online
 * Guessing Attacks with Device Cookies" (OWASP). Its value is a random id, and a MAC over the id, the account and the
 * account's device generation. The end of all sessions and a new password raise the generation, which makes all devices
 * unknown: a stolen password cannot be used to collect known devices. The first secret signs, and all secrets verify.
 */
export function createKnownDevices(config: Pick<Config, 'auth'>) {
  const secrets = [config.auth.jwtSecret].flat()
  const attributes = { ...authCookieAttributes(config), maxAge: keptSeconds }

  /** The id of a device that is known for this account; undefined for any other. */
  function find(account: Account | undefined, { cookies }: FastifyRequest): string | undefined {
    if (!account) return undefined
    const [, id, signature] = form.exec(cookies[nameFor(account.email)] ?? '') ?? []
    if (!id || !signature) return undefined
    const given = Buffer.from(signature, 'base64url')
    return secrets.some((secret) => timingSafeEqual(given, mac(secret, account, id))) ? id : undefined
  }

  const isKnown = (account: Account | undefined, request: FastifyRequest): boolean =>
    find(account, request) !== undefined

  /** Sets the cookie by which the device is known from now on. A known device keeps its id. */
  function remember(account: Account, request: FastifyRequest, reply: FastifyReply): void {
    const id = find(account, request) ?? randomBytes(16).toString('base64url')
    const signature = mac(secrets[0]!, account, id).toString('base64url')
    reply.setCookie(nameFor(account.email), `${id}.${signature}`, attributes)
  }

  return { find, isKnown, remember }
}

/** One cookie for each account, so that people who share a device do not replace each other's. */
const nameFor = (email: string) =>
  `parley_device_${createHash('sha256').update(email).digest('base64url').slice(0, 12)}`

// In base64url, 16 and 32 bytes can only end with these characters. So every value has exactly one spelling.
const form = /^([\w-]{21}[AQgw])\.([\w-]{42}[AEIMQUYcgkosw048])$/

const mac = (secret: string, { id: userId, deviceGeneration }: Account, id: string) =>
  createHmac('sha256', secret).update(`parley device\0${userId}\0${deviceGeneration}\0${id}`).digest()
