import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '@parley/config'
import type { FastifyReply, FastifyRequest } from 'fastify'

interface Account {
  email: string
  passwordHash: string | null
}

/** The longest time that browsers keep a cookie. */
const keptSeconds = 400 * 86_400

/**
 * Recognises the devices on which somebody has signed in to an account before, by a cookie that each sign-in sets. The cookie gives no
 * access. It only gives the device its own limit of wrong passwords, after "Slow Down Online Guessing Attacks with Device Cookies"
 * (OWASP). Its value is a random id and a MAC over the id, the address and the password's hash. A new password makes all devices
 * unknown, so nobody can collect devices with a stolen password. The first secret signs, all secrets verify.
 */
export function createKnownDevices({ auth }: Pick<Config, 'auth'>) {
  const secrets = [auth.jwtSecret].flat()
  const { protocol, pathname } = new URL(auth.appUrl)
  const attributes = {
    path: `${pathname.replace(/\/$/, '')}/auth`,
    maxAge: keptSeconds,
    httpOnly: true,
    sameSite: 'strict',
    secure: protocol === 'https:',
  } as const

  /** The id of a device that is known for this account; undefined for any other, and for an account without a password. */
  function find(account: Account | undefined, { cookies }: FastifyRequest): string | undefined {
    if (!account?.passwordHash) return undefined
    const { email, passwordHash } = account
    const [, id, signature] = form.exec(cookies[nameFor(email)] ?? '') ?? []
    if (!id || !signature) return undefined
    const given = Buffer.from(signature, 'base64url')
    return secrets.some((secret) => timingSafeEqual(given, mac(secret, email, passwordHash, id))) ? id : undefined
  }

  /** Sets the cookie by which the device is known from now on. A known device keeps its id. */
  function remember(account: Account & { passwordHash: string }, request: FastifyRequest, reply: FastifyReply): void {
    const { email, passwordHash } = account
    const id = find(account, request) ?? randomBytes(16).toString('base64url')
    const signature = mac(secrets[0]!, email, passwordHash, id).toString('base64url')
    reply.setCookie(nameFor(email), `${id}.${signature}`, attributes)
  }

  return { find, remember }
}

/** One cookie for each account, so that people who share a device do not replace each other's. */
const nameFor = (email: string) =>
  `parley_device_${createHash('sha256').update(email).digest('base64url').slice(0, 12)}`

// The last characters are those that an encoder writes for 16 and 32 bytes, so every value has one spelling.
const form = /^([\w-]{21}[AQgw])\.([\w-]{42}[AEIMQUYcgkosw048])$/

const mac = (secret: string, email: string, passwordHash: string, id: string) =>
  createHmac('sha256', secret).update(`parley device\0${email}\0${passwordHash}\0${id}`).digest()
