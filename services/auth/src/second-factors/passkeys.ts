import type { Config } from '@parley/config'
import { audit, type PasskeyRow, type Reader, type Transaction } from '@parley/database'
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  type VerifiedRegistrationResponse,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { type Static, Type } from 'typebox'
import { challengeLifetimeMs, insertChallenge, takeChallenge } from './challenges.ts'

const Base64url = (maxLength: number) => Type.String({ maxLength, pattern: '^[A-Za-z0-9_-]*$' })
const credentialFields = {
  id: Base64url(2_000),
  rawId: Base64url(2_000),
  type: Type.Literal('public-key'),
  clientExtensionResults: Type.Optional(Type.Object({}, { additionalProperties: true })),
  authenticatorAttachment: Type.Optional(Type.String({ maxLength: 40 })),
}

/** The result of `navigator.credentials.get`, as `PublicKeyCredential.toJSON()` writes it. */
export const AssertionCredential = Type.Object(
  {
    ...credentialFields,
    response: Type.Object({
      clientDataJSON: Base64url(10_000),
      authenticatorData: Base64url(10_000),
      signature: Base64url(4_000),
      userHandle: Type.Optional(Base64url(200)),
    }),
  },
  { description: 'AuthenticationResponseJSON of WebAuthn: the answer to `POST /auth/passkeys/authentication`' },
)
export type AssertionCredential = Static<typeof AssertionCredential>

/** The result of `navigator.credentials.create`, as `PublicKeyCredential.toJSON()` writes it. */
export const NewCredential = Type.Object(
  {
    ...credentialFields,
    response: Type.Object({
      clientDataJSON: Base64url(10_000),
      attestationObject: Base64url(100_000),
      transports: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 })),
    }),
  },
  { description: 'RegistrationResponseJSON of WebAuthn: the answer to `POST /auth/passkeys/registration`' },
)
export type NewCredential = Static<typeof NewCredential>

/** EdDSA, ES256 and RS256, which today's authenticators support. */
const supportedAlgorithmIDs = [-8, -7, -257]

/** A passkey that has signed one of our challenges, or the reason why it is refused. */
export type ShownPasskey =
  | { passkey: PasskeyRow; counter: number; fault?: undefined }
  | { passkey?: PasskeyRow | undefined; counter?: undefined; fault: string }

/** A passkey that a person has created, and the time when its set-up began. */
interface NewPasskey {
  credential: NonNullable<VerifiedRegistrationResponse['registrationInfo']>['credential']
  begunAt: number
}

interface Acceptance {
  userId?: string | undefined
  /** Why it is refused. */
  fault?: string
  /** Whether the refusal is in the audit log already. */
  isAudited?: boolean
}

export type Passkeys = ReturnType<typeof createPasskeys>

/**
 * Passkeys for `auth.appUrl`: its host is the relying party, and only its origin may ask for a signature. @simplewebauthn/server checks
 * signatures, origins and flags. `challenges.ts` checks the challenges, and this file the counters.
 */
export function createPasskeys({ auth }: Pick<Config, 'auth'>) {
  const { origin, hostname: rpID } = new URL(auth.appUrl)

  /** Options for `navigator.credentials.create`: the passkey must be discoverable, and must verify the person. */
  async function beginRegistration(
    db: Reader,
    {
      user,
      server,
      known,
      now,
    }: { user: { id: string; userName: string; email: string }; server: string; known: PasskeyRow[]; now: number },
  ) {
    const options = await generateRegistrationOptions({
      rpName: server,
      rpID,
      userID: new Uint8Array(Buffer.from(user.id)),
      userName: user.email,
      userDisplayName: user.userName,
      timeout: challengeLifetimeMs,
      attestationType: 'none',
      supportedAlgorithmIDs,
      excludeCredentials: known.map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    await insertChallenge(db, { challenge: options.challenge, purpose: 'registration', userId: user.id, now })
    return options
  }

  /** The new passkey of this person; undefined when the answer is not valid. The challenge is consumed in any case. */
  async function readRegistration(
    db: Reader,
    { userId, credential, now }: { userId: string; credential: NewCredential; now: number },
  ): Promise<NewPasskey | undefined> {
    const issued = await takeChallenge(db, credential, 'registration', now)
    if (issued?.userId !== userId) return undefined
    const verified = await undefinedIfRefused(() =>
      verifyRegistrationResponse({
        response: { clientExtensionResults: {}, ...credential } as unknown as RegistrationResponseJSON,
        expectedChallenge: issued.challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
        supportedAlgorithmIDs,
      }),
    )
    const created = verified?.registrationInfo?.credential
    return created && { credential: created, begunAt: issued.expiresAt - challengeLifetimeMs }
  }

  /** Options for `navigator.credentials.get`, for the passkeys of one person or for any passkey. */
  async function beginAuthentication(
    db: Reader,
    { userId, known, now }: { userId: string | null; known: PasskeyRow[]; now: number },
  ) {
    const options = await generateAuthenticationOptions({
      rpID,
      timeout: challengeLifetimeMs,
      userVerification: 'required',
      ...(userId !== null && { allowCredentials: known.map(descriptorOf) }),
    })
    await insertChallenge(db, { challenge: options.challenge, purpose: 'authentication', userId, now })
    return options
  }

  /** Checks an answer, except the counter, which `accept` checks. The challenge is consumed in any case. */
  async function readAssertion(db: Reader, credential: AssertionCredential, now: number): Promise<ShownPasskey> {
    const issued = await takeChallenge(db, credential, 'authentication', now)
    const passkey = await findPasskey(db, credential.id)
    if (!issued) return { passkey, fault: 'not a challenge of this server, or used, or expired' }
    if (!passkey) return { fault: 'unknown passkey' }
    const { userHandle } = credential.response
    const isTheirs = userHandle === undefined || Buffer.from(userHandle, 'base64url').toString() === passkey.userId
    if (!isTheirs || (issued.userId !== null && issued.userId !== passkey.userId)) {
      return { passkey, fault: 'passkey of somebody else' }
    }
    const verified = await undefinedIfRefused(() =>
      verifyAuthenticationResponse({
        response: { clientExtensionResults: {}, ...credential } as unknown as AuthenticationResponseJSON,
        expectedChallenge: issued.challenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        // A counter of 0 turns off the library's check, which would use a counter that is not locked yet.
        credential: { id: passkey.credentialId, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
        requireUserVerification: true,
      }),
    )
    if (!verified?.verified) return { passkey, fault: 'wrong origin, flags or signature' }
    return { passkey, counter: verified.authenticationInfo.newCounter }
  }

  /**
   * Accepts a signature when its counter is higher than the last one, or when both are 0, because some authenticators
   * do not count. A counter that goes back is a sign of a copied passkey: it is audited and refused. Call it under the
   * lock of the passkey's person.
   */
  async function accept(
    trx: Transaction,
    { passkey, counter, fault }: ShownPasskey,
    { ip, now }: { ip: string; now: number },
  ): Promise<Acceptance> {
    if (fault !== undefined) return { userId: passkey?.userId, fault }
    const { id, userId } = passkey
    const current = await trx.selectFrom('passkeys').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    if (!current) return { userId, fault: 'unknown passkey' }
    if ((counter > 0 || current.counter > 0) && counter <= current.counter) {
      const reason = 'the counter of the passkey went back'
      const metadata = { method: 'passkey', reason, passkeyId: id, counter, expectedAbove: current.counter }
      await audit(trx, {
        action: 'login.failure',
        actorId: 'anonymous',
        targetType: 'user',
        targetId: userId,
        metadata,
        ip,
      })
      return { userId, fault: reason, isAudited: true }
    }
    await trx.updateTable('passkeys').set({ counter, lastUsedAt: now }).where('id', '=', id).execute()
    return { userId }
  }

  return { beginRegistration, readRegistration, beginAuthentication, readAssertion, accept }
}

/** The passkeys of a person, oldest first. Served by the index passkeys_of_user. */
export const listPasskeys = (db: Reader, userId: string): Promise<PasskeyRow[]> =>
  db.selectFrom('passkeys').selectAll().where('userId', '=', userId).orderBy('createdAt').orderBy('id').execute()

const findPasskey = (db: Reader, credentialId: string): Promise<PasskeyRow | undefined> =>
  db.selectFrom('passkeys').selectAll().where('credentialId', '=', credentialId).executeTakeFirst()

const descriptorOf = ({ credentialId, transports }: PasskeyRow) => ({ id: credentialId, transports })

/**
 * Runs a check of the library. Undefined when it throws, because the library throws many kinds of errors for answers
 * that are not valid.
 */
async function undefinedIfRefused<Verified>(verify: () => Promise<Verified>): Promise<Verified | undefined> {
  try {
    return await verify()
  } catch {
    return undefined
  }
}
