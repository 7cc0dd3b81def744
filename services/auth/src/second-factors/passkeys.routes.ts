import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { auditFailedSignIn, findServerName, lockUserIfLive } from '@parley/accounts'
import {
  alreadySetUp,
  invalid,
  notFound,
  Ok,
  refusals,
  SessionHeaders,
  TokenResponse,
  unauthorized,
} from '@parley/contract'
import { isDuplicate, isRowId, type PasskeyRow, type Transaction, uuidv7 } from '@parley/database'
import { type Deps, logFailedSignIn } from '@parley/service'
import { Type } from 'typebox'
import { findAttempt } from '../sessions/mfa-attempts.ts'
import { onlyWithMfa, originOf, type SignIns, signIn, signInTransaction } from '../sessions/sign-in.ts'
import { type Confirmations, confirmationFields, lockCaller } from './confirmations.ts'
import { recordFactorChange } from './factor-changes.ts'
import { AssertionCredential, listPasskeys, NewCredential, type Passkeys } from './passkeys.ts'

const maxPasskeys = 20
const method = 'passkey'

const Passkey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  createdAt: Type.Integer(),
  lastUsedAt: Type.Union([Type.Integer(), Type.Null()]),
})
const Options = (of: string) =>
  Type.Object({}, { additionalProperties: true, description: `${of} of WebAuthn level 3, valid for five minutes` })

const BeginRegistration = {
  summary: 'Begin to set up a passkey',
  description:
    'Returns the options for `PublicKeyCredential.parseCreationOptionsFromJSON` and then `navigator.credentials.create`. Unless the ' +
    'person signed in during the last ten minutes, they confirm it in the body: with a second factor if they have one (403 `mfa_required`), ' +
    'else with `currentPassword` if they have a password (403 `password_required`).',
  body: Type.Object(confirmationFields),
  response: {
    200: Type.Object({ options: Options('PublicKeyCredentialCreationOptionsJSON') }),
    ...refusals(400, 401, 403, 404, 429),
  },
}

const AddPasskey = {
  summary: 'Set up a passkey',
  description: 'When it is the first second factor of the person, their other sessions end.',
  body: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 80, description: 'The name that the person gives it' }),
    credential: NewCredential,
  }),
  response: { 200: Type.Object({ passkey: Passkey }), ...refusals(400, 401, 403, 404, 409) },
}

const ListPasskeys = {
  summary: 'List the passkeys of the caller, oldest first',
  response: { 200: Type.Object({ passkeys: Type.Array(Passkey) }), ...refusals(401, 404) },
}

const RemovePasskey = {
  summary: 'Remove a passkey',
  description:
    'Needs a second factor in the body, unless the person signed in during the last ten minutes (403 `mfa_required`). The passkey itself is ' +
    'accepted too.',
  params: Type.Object({ passkeyId: Type.String() }),
  body: Type.Object(confirmationFields),
  response: { 200: Ok, ...refusals(400, 401, 403, 404, 429) },
}

const BeginAuthentication = {
  summary: 'Begin to sign in with a passkey',
  description:
    'Returns the options for `PublicKeyCredential.parseRequestOptionsFromJSON` and then `navigator.credentials.get`. With the `mfaToken` of a ' +
    'sign-in the options name the passkeys of that person.',
  body: Type.Object({ mfaToken: Type.Optional(Type.String({ maxLength: 1_000 })) }),
  response: {
    200: Type.Object({ options: Options('PublicKeyCredentialRequestOptionsJSON') }),
    ...refusals(400, 401, 404),
  },
}

const SignIn = {
  summary: 'Sign in with a passkey',
  description: 'A passkey counts as both factors.',
  headers: SessionHeaders,
  body: Type.Object({ credential: AssertionCredential }),
  response: { 200: TokenResponse, ...refusals(400, 401, 403, 404) },
}

export const passkeyRoutes =
  (
    deps: Deps,
    passkeys: Passkeys,
    { confirmed }: Confirmations,
    { devices, respondToSignIn }: SignIns,
  ): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const onRequest = onlyWithMfa(config)
    const mayEnrol = { config: { mayEnrol: true }, onRequest } as const
    const open = { config: { access: 'none' }, onRequest } as const

    app.post('/auth/passkeys/registration', { schema: BeginRegistration, ...mayEnrol }, async (request) => {
      const server = await findServerName(db)
      const options = await confirmed(request, async (trx, user, { now }) => {
        const known = await listPasskeys(trx, user.id)
        refuseTooMany(known)
        return passkeys.beginRegistration(trx, { user, server, known, now })
      })
      return { options: { ...options } }
    })

    app.post('/auth/passkeys', { schema: AddPasskey, ...mayEnrol }, async (request) => {
      const origin = originOf(request, clock())
      const { name, credential } = request.body
      const { userId, sessionId } = request.caller
      if (name.trim() === '') throw invalid('name must not be empty')
      const verified = await passkeys.readRegistration(db, { userId, credential, now: origin.now })
      if (!verified) throw notAccepted()

      const passkey = await db.transaction().execute(async (trx) => {
        const user = await lockCaller(trx, request, origin.now)
        // A set-up that began before the first factor was not confirmed by that factor.
        if (verified.begunAt < (user.secondFactorSince ?? 0)) throw notAccepted()
        refuseTooMany(await listPasskeys(trx, user.id))
        const passkey = await insertPasskey(trx, {
          id: uuidv7(),
          userId,
          name: name.trim(),
          credentialId: verified.credential.id,
          publicKey: Buffer.from(verified.credential.publicKey),
          counter: verified.credential.counter,
          transports: credential.response.transports ?? [],
          createdAt: origin.now,
          lastUsedAt: null,
        })
        await recordFactorChange(trx, config, { user, sessionId, change: 'create', ...factorOf(passkey), origin })
        return passkey
      })
      return { passkey }
    })

    app.get('/auth/passkeys', { schema: ListPasskeys, ...mayEnrol }, async ({ caller }) => ({
      passkeys: await listPasskeys(db, caller.userId),
    }))

    app.delete('/auth/passkeys/:passkeyId', { schema: RemovePasskey, onRequest }, async (request) => {
      const { passkeyId } = request.params
      if (!isRowId(passkeyId)) throw notFound('passkey')
      await confirmed(request, async (trx, user, origin) => {
        const passkey = await trx
          .deleteFrom('passkeys')
          .where('id', '=', passkeyId)
          .where('userId', '=', user.id)
          .returningAll()
          .executeTakeFirst()
        if (!passkey) throw notFound('passkey')
        const { sessionId } = request.caller
        await recordFactorChange(trx, config, { user, sessionId, change: 'delete', ...factorOf(passkey), origin })
      })
      return { success: true as const }
    })

    app.post('/auth/passkeys/authentication', { schema: BeginAuthentication, ...open }, async ({ body }) => {
      const now = clock()
      const userId = body.mfaToken === undefined ? null : (await findAttempt(db, body.mfaToken, now)).userId
      const known = userId === null ? [] : await listPasskeys(db, userId)
      return { options: { ...(await passkeys.beginAuthentication(db, { userId, known, now })) } }
    })

    app.post('/auth/passkeys/sign-in', { schema: SignIn, ...open }, async (request, reply) => {
      const origin = originOf(request, clock())
      const shown = await passkeys.readAssertion(db, request.body.credential, origin.now)

      // The audit entry of a refusal must be committed, so the refusal is thrown after the transaction.
      const result = await signInTransaction(db, request, origin, async (trx) => {
        const user = shown.passkey && (await lockUserIfLive(trx, shown.passkey.userId))
        const { fault, isAudited } = await passkeys.accept(trx, shown, origin)
        if (user && fault === undefined) {
          const isKnownDevice = devices.isKnown(user, request)
          const session = await signIn(trx, config, { user, method, isKnownDevice }, origin)
          return { user, method, session } as const
        }
        const { ip, now } = origin
        if (!isAudited) await auditFailedSignIn(trx, { method, userId: user?.id, ip, now })
        logFailedSignIn(request, { method, reason: fault ?? 'removed user', userId: user?.id })
        return undefined
      })
      if (!result) throw unauthorized(refusal)

      return respondToSignIn(request, reply, result)
    })
  }

const factorOf = ({ id, name }: PasskeyRow) => ({ factor: 'passkey', metadata: { passkeyId: id, name } }) as const

const refusal = 'This passkey was not accepted. Please try again from the beginning'

const notAccepted = () => invalid(refusal)

function refuseTooMany(known: PasskeyRow[]) {
  if (known.length >= maxPasskeys)
    throw invalid(`You have ${maxPasskeys} passkeys already, which is the limit. Please remove one first`)
}

async function insertPasskey(trx: Transaction, row: PasskeyRow): Promise<PasskeyRow> {
  try {
    await trx.insertInto('passkeys').values(row).execute()
    return row
  } catch (error) {
    if (isDuplicate(error, 'passkeys_credential_id_key')) throw alreadySetUp('This passkey is set up already')
    throw error
  }
}
