import { Person } from '@parley/test'
import { Authenticator, type Flaws } from '@parley/test/authenticator'
import { TOTP } from 'otpauth'
import { expect } from 'vitest'
import type { RunningAuth } from '../auth.testing.ts'

export const password = 'a long enough phrase'

const stepMs = 30_000
let people = 0

/** A person with a password, and with the secrets of their second factors. */
export class Owner {
  readonly server: RunningAuth
  readonly email: string
  readonly id: string
  secret = ''
  recoveryCodes: string[] = []

  static async create(server: RunningAuth, email = `owner${++people}@example.com`): Promise<Owner> {
    const { id } = await server.invite(email, password)
    return new Owner(server, { id, email })
  }

  constructor(server: RunningAuth, { id, email }: { id: string; email: string }) {
    this.server = server
    this.id = id
    this.email = email
  }

  /** The first step of a sign-in. */
  login = (headers = {}) => this.server.nobody.post('/auth/password-login', { email: this.email, password }, headers)

  /** A sign-in that must work with the password alone. */
  async signsIn(): Promise<Person> {
    const { status, body } = await this.login()
    expect([status, body]).toEqual([200, expect.objectContaining({ accessToken: expect.any(String) })])
    return this.person(body)
  }

  person = ({ accessToken, refreshToken }: { accessToken: string; refreshToken?: string }) =>
    new Person(this.server.nobody.baseUrl, { id: this.id, userName: '' }, accessToken, refreshToken)

  /** Sets up an authenticator app. */
  async setsUpTotp(session: Person): Promise<void> {
    this.secret = (await session.post('/auth/totp')).body.secret
    const { status, body } = await session.post('/auth/totp/confirm', { code: this.code() })
    expect(status).toBe(200)
    this.recoveryCodes = body.recoveryCodes
  }

  /** The code of the app, this number of steps from now. When the current step ends soon, the clock is moved to the next one first. */
  code(steps = 0): string {
    const { clock } = this.server.deps
    const elapsed = clock() % stepMs
    if (elapsed > stepMs / 3) this.server.pass(stepMs - elapsed)
    return new TOTP({ secret: this.secret }).generate({ timestamp: clock() + steps * stepMs })
  }

  /** The first step of a sign-in that must ask for a second factor. */
  async begins(): Promise<string> {
    const { status, body } = await this.login()
    expect([status, body]).toEqual([
      200,
      { mfaRequired: true, mfaToken: expect.any(String), methods: expect.any(Array) },
    ])
    return body.mfaToken
  }

  finish = (mfaToken: string, proof: object, headers = {}) =>
    this.server.nobody.post('/auth/mfa', { mfaToken, ...proof }, headers)

  /** Sets up a passkey. */
  async setsUpPasskey(session: Person, name = 'a key'): Promise<Authenticator> {
    const authenticator = new Authenticator()
    const { options } = (await session.post('/auth/passkeys/registration')).body
    const credential = authenticator.register(options, this.origin)
    expect(await session.post('/auth/passkeys', { name, credential })).toMatchObject({ status: 200 })
    return authenticator
  }

  get origin() {
    return new URL(this.server.deps.config.auth.appUrl).origin
  }

  /** Asks the server for a challenge and signs it. */
  async assert(authenticator: Authenticator, flaws: Flaws = {}, mfaToken?: string) {
    const { status, body } = await this.server.nobody.post('/auth/passkeys/authentication', { mfaToken })
    expect(status).toBe(200)
    return authenticator.answer(body.options, this.origin, flaws)
  }
}
