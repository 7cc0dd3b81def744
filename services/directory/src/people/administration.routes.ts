import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  type Act,
  countMailByAdmin,
  createOneTimeLinks,
  createPasswordHasher,
  createUser,
  findServerName,
  inviteMail,
  lockAsAdmin,
  type NewUser,
  readEmail,
  removeUser,
  setPassword,
  setRole,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import {
  Id,
  IdempotencyHeaders,
  invalid,
  limits,
  NewPassword,
  notFound,
  Ok,
  refusals,
  tooMany,
  User,
} from '@parley/contract'
import { audit, claimOf, isRowId, once, recordJob, type Transaction, type UserRow } from '@parley/database'
import type { Caller } from '@parley/identity'
import { type Deps, logSessionEnd } from '@parley/service'
import { metric } from '@parley/telemetry'
import { Type } from 'typebox'

const Role = Type.Enum(['user', 'admin'])
const UserParams = Type.Object({ id: Type.String() })

const AddUser = {
  summary: 'Add somebody by e-mail address',
  description:
    'With a password they have it from now on. Without one, in password mode with e-mail, they are sent a link to choose ' +
    'their own. In magic-link mode they are sent a link to sign in.',
  headers: IdempotencyHeaders,
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    role: Type.Optional(Role),
    password: Type.Optional(NewPassword),
  }),
  response: { 200: Type.Object({ ...Ok.properties, userId: Id }), ...refusals(400, 401, 403, 409, 429, 503) },
}

const InviteAgain = {
  summary: 'Send an invitation again',
  description:
    'In password mode with e-mail: the link to choose a password, for somebody who has none yet. In magic-link mode: a link ' +
    'to sign in. The earlier link works no more.',
  params: UserParams,
  response: { 200: Ok, ...refusals(400, 401, 403, 404, 429) },
}

const ResetPassword = {
  summary: 'Give somebody a new password',
  description: 'Ends their sessions, but the one that asks.',
  params: UserParams,
  body: Type.Object({ password: NewPassword }),
  response: { 200: Ok, ...refusals(400, 401, 403, 503) },
}

const UpdateRole = {
  summary: 'Make somebody an admin, or an ordinary user again',
  description: 'The last admin stays one (400).',
  params: UserParams,
  body: Type.Object({ role: Role }),
  response: { 200: Type.Object({ user: User }), ...refusals(400, 401, 403) },
}

const RemoveUser = {
  summary: 'Remove somebody',
  description: 'Ends their sessions, streams and memberships at once; their messages stay. The last admin stays (400).',
  params: UserParams,
  response: { 200: Ok, ...refusals(400, 401, 403, 404) },
}

export const administrationRoutes =
  ({ db, config, clock, metrics, seals }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const
    const derivations = metrics.counter(metric.passwordDerivations)
    const passwords = createPasswordHasher({ atOnce: 1, onOutcome: (outcome) => derivations.with({ outcome }).add() })
    const hash = (password: string, caller: Caller) =>
      passwords.hash(password, { purpose: 'administration', client: caller.userId })
    const invitations = createInvitations(config)

    app.post('/users/add', { schema: AddUser, config: access }, async ({ caller, ip, headers, body }) => {
      const email = readEmail(body.email)
      const passwordHash = body.password === undefined ? null : await hash(body.password, caller)

      const act = { caller, ip, now: clock() }
      const key = headers['idempotency-key']
      // What is kept of the request must not help to guess the password.
      const asked = seals.fingerprint(JSON.stringify([email, body.role ?? 'user', body.password ?? null]))
      const claim = claimOf(caller.userId, key, 'POST /users/add', asked)

      return db.transaction().execute((trx) =>
        once(trx, claim, act.now, async () => {
          // Passwords are hashed one by one: seconds may have passed since the request came.
          await lockAsAdmin(trx, act)
          const added = { email, isAdmin: body.role === 'admin', passwordHash, autoJoin: config.chat.autoJoin }
          const user = await addUser(trx, added, act)
          if (invitations.isFor(user)) await invitations.send(trx, user, act)
          return { success: true as const, userId: user.id }
        }),
      )
    })

    app.post('/users/:id/invite', { schema: InviteAgain, config: access }, async ({ caller, ip, params }) => {
      await db.transaction().execute(async (trx) => {
        const act = { caller, ip, now: clock() }
        const people = await lockAsAdmin(trx, act, params.id)
        const user = people.get(params.id)
        if (!user) throw notFound('user')
        if (!invitations.isFor(user)) throw invalid('This person already has a password')
        if (!(await invitations.send(trx, user, act))) throw invalid('This server does not send invitations by e-mail')
      })
      return { success: true as const }
    })

    app.post('/users/:id/reset-password', { schema: ResetPassword, config: access }, async (request) => {
      const { caller, ip, params, body } = request
      if (!isRowId(params.id)) throw unknownUser()
      const passwordHash = await hash(body.password, caller)

      await db.transaction().execute(async (trx) => {
        const change = {
          userId: params.id,
          passwordHash,
          except: caller.sessionId,
          actorId: caller.userId,
          ip,
          now: clock(),
        }
        await lockAsAdmin(trx, { caller, now: change.now }, params.id)
        const user = await setPassword(trx, change)
        if (!user) throw unknownUser()
        await audit(trx, {
          action: 'user.password.reset',
          actorId: caller.userId,
          targetType: 'user',
          targetId: user.id,
          ip,
        })
      })
      logSessionEnd(request, { userId: params.id, reason: 'password changed' })

      return { success: true as const }
    })

    app.put('/users/:id/role', { schema: UpdateRole, config: access }, async ({ caller, ip, params, body }) => ({
      user: await db.transaction().execute((trx) => setRole(trx, params.id, body.role, { caller, ip, now: clock() })),
    }))

    app.delete('/users/:id', { schema: RemoveUser, config: access }, async (request) => {
      const { caller, ip, params } = request
      await db.transaction().execute((trx) => removeUser(trx, params.id, { caller, ip, now: clock() }))
      logSessionEnd(request, { userId: params.id, reason: 'removed' })
      return { success: true as const }
    })
  }

const unknownUser = () => invalid('There is no such user')

type AddedUser = Pick<NewUser, 'email' | 'isAdmin' | 'passwordHash' | 'autoJoin'>

/** An admin adds somebody. @throws ApiError 400 when somebody has the address. */
async function addUser(trx: Transaction, added: AddedUser, { caller, ip, now }: Act): Promise<UserRow> {
  const user = await createUser(trx, { ...added, actorId: caller.userId, ip, now })
  if (!user) throw invalid('This e-mail address is already in use', 'duplicate')
  return user
}

/**
 * Sends people who were added the link by which they come in: to choose a password in password mode, to sign in in magic-link
 * mode. In dev mode, and in password mode without e-mail, there are no invitations: people come in by other means, or an admin
 * gives them a password.
 */
function createInvitations(config: Config) {
  const links = createOneTimeLinks(config)
  const { authMode } = config.auth
  const areMailed = authMode !== 'dev' && config.email.host !== undefined

  /** Whether the person needs an invitation: in password mode nobody does who has a password. */
  const isFor = ({ passwordHash }: UserRow) => authMode !== 'password' || !passwordHash

  /** The mail goes with the transaction. Answers whether there is one. @throws ApiError 429 when the address was sent too many. */
  async function send(trx: Transaction, { id, email }: UserRow, { caller, now }: Act): Promise<boolean> {
    if (!areMailed) return false
    const seconds = await countMailByAdmin(trx, email, now)
    if (seconds > 0) throw tooMany('Too many mails were sent to this address. Please try again later', seconds)
    const link = await links.issue(trx, { purpose: 'invite', email, userId: id, now })
    const from = { server: await findServerName(trx), inviter: caller.userName }
    await recordJob(trx, 'send-mail', inviteMail(email, link, { ...from, setsPassword: authMode === 'password' }))
    return true
  }

  return { isFor, send }
}
