import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '@parley/config'
import { readCookie } from '../oauth/browser-cookie.ts'

interface Account {
  email: string
  passwordHash: string | null
}

/** As long as browsers keep a cookie at most. */
const keptSeconds = 400 * 86_400

/**
 * Recognises the devices on which somebody has signed in to an account before, by a cookie that each sign-in sets. It lets nobody in:
 * it only gives the device a limit of wrong passwords of its own. After "Slow Down Online Guessing Attacks with Device Cookies"
 * (OWASP). The value is a random id and a MAC over the id, the address and the password's hash: a new password makes all devices
 * unknown, so nobody can collect devices with a password that is not theirs. Of the secrets the first signs, all verify.
 */
export function createKnownDevices({ auth }: Pick<Config, 'auth'>) {
  const secrets = [auth.jwtSecret].flat()
  const { protocol, pathname } = new URL(auth.appUrl)
  const attributes = [
    `Path=${pathname.replace(/\/$/, '')}/auth`,
    `Max-Age=${keptSeconds}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(protocol === 'https:' ? ['Secure'] : []),
  ].join('; ')

  /** The id of a device that is known for this account; undefined for any other, and for an account without a password. */
  function find(account: Account | undefined, cookies: string | undefined): string | undefined {
    if (!account?.passwordHash) return undefined
    const { email, passwordHash } = account
    const [, id, signature] = form.exec(readCookie({ name: nameFor(email), isSecure: false }, cookies) ?? '') ?? []
    if (!id || !signature) return undefined
    const given = Buffer.from(signature, 'base64url')
    return secrets.some((secret) => timingSafeEqual(given, mac(secret, email, passwordHash, id))) ? id : undefined
  }

  /** The `Set-Cookie` by which a device is known from now on. One that is known already keeps its id. */
  function remember(account: Account & { passwordHash: string }, cookies: string | undefined): string {
    const { email, passwordHash } = account
    const id = find(account, cookies) ?? randomBytes(16).toString('base64url')
    return `${nameFor(email)}=${id}.${mac(secrets[0]!, email, passwordHash, id).toString('base64url')}; ${attributes}`
  }

  return { find, remember }
}

/** One for each account, so that people who share a device do not take it from each other. */
const nameFor = (email: string) =>
  `parley_device_${createHash('sha256').update(email).digest('base64url').slice(0, 12)}`

// The last characters are those that 16 and 32 bytes end in: every value has one spelling only.
const form = /^([\w-]{21}[AQgw])\.([\w-]{42}[AEIMQUYcgkosw048])$/

const mac = (secret: string, email: string, passwordHash: string, id: string) =>
  createHmac('sha256', secret).update(`parley device\0${email}\0${passwordHash}\0${id}`).digest()
