import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  activateUser,
  checkExpiry,
  createPasswordHasher,
  createUser,
  deactivateUser,
  lockAsAdmin,
  mailNotice,
  type NewUser,
  type RequestContext,
  readEmail,
  refuseWeakPassword,
  removeUser,
  setPassword,
  setRole,
} from '@parley/accounts'
import {
  Id,
  IdempotencyHeaders,
  invalid,
  limits,
  NewPassword,
  notFound,
  Ok,
  type Role,
  refusals,
  Timestamp,
  User,
} from '@parley/contract'
import { audit, claimOfFingerprints, once, type Transaction, type UserRow, userView } from '@parley/database'
import { type Caller, requireScope } from '@parley/identity'
import { type Deps, logSessionEnd } from '@parley/service'
import { metric } from '@parley/telemetry'
import { type Static, Type } from 'typebox'
import { createInvitations } from './invitations.ts'
import { findLiveUser } from './people.queries.ts'

const RoleName = Type.Enum(['admin', 'member', 'guest', 'user'], { description: '`user` is another word for `member`' })
const ExpiresAt = {
  ...Timestamp,
  maximum: limits.expiresAt,
  description: 'When the guest is deactivated automatically. Without it the guest stays',
}
const UserParams = Type.Object({ id: Type.String() })

const AddUser = {
  summary: 'Add somebody by e-mail address',
  description:
    'With `password`, the new person has this password. Without it, they get a link by mail: in password mode (when the server sends ' +
    'e-mail) to choose a password, in magic-link mode to sign in. A guest is not a member of any channel until somebody adds them.',
  headers: IdempotencyHeaders,
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    role: Type.Optional(RoleName),
    expiresAt: Type.Optional(ExpiresAt),
    password: Type.Optional(NewPassword),
  }),
  response: { 200: Type.Object({ ...Ok.properties, userId: Id }), ...refusals(400, 401, 403, 409, 429, 503) },
}

const InviteAgain = {
  summary: 'Send an invitation again',
  description:
    'In password mode (when the server sends e-mail) the person gets a link to choose a password, unless they have one. In magic-link mode ' +
    'they get a link to sign in. The earlier link stops working.',
  params: UserParams,
  response: { 200: Ok, ...refusals(400, 401, 403, 404, 429) },
}

const ResetPassword = {
  summary: 'Give somebody a new password',
  description: 'Ends all sessions of that person, except the one that makes this request.',
  params: UserParams,
  body: Type.Object({ password: NewPassword }),
  response: { 200: Ok, ...refusals(400, 401, 403, 503) },
}

const UpdateRole = {
  summary: 'Make somebody an admin, a member or a guest',
  description:
    'The last admin must stay an admin (400). A person who becomes a guest keeps the channels of which they are a member and loses all ' +
    'others at once.',
  params: UserParams,
  body: Type.Object({ role: RoleName, expiresAt: Type.Optional(ExpiresAt) }),
  response: { 200: Type.Object({ user: User }), ...refusals(400, 401, 403) },
}

const SetActive = {
  summary: 'Deactivate or activate somebody',
  description:
    'Deactivated people keep name, memberships and messages. Their sessions and streams end at once, they cannot sign in, get no mail ' +
    'and are left out of searches for people. The last admin and oneself cannot be deactivated (400).',
  params: UserParams,
  body: Type.Object({ isActive: Type.Boolean() }),
  response: { 200: Type.Object({ user: User }), ...refusals(400, 401, 403, 404) },
}

const RemoveUser = {
  summary: 'Remove somebody',
  description:
    'Ends their sessions, streams and memberships at once. Their messages stay. The last admin cannot be removed (400).',
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
      if (body.password !== undefined) {
        requireScope(caller, 'none')
        await refuseWeakPassword(body.password, { email })
      }
      const role = roleOf(body.role)
      checkExpiry({ role, expiresAt: body.expiresAt }, clock())
      const passwordHash = body.password === undefined ? null : await hash(body.password, caller)

      const context = { caller, ip, now: clock() }
      const request = JSON.stringify([email, role, body.expiresAt ?? null, body.password ?? null])
      const fingerprints = seals.fingerprints(request)
      const claim = claimOfFingerprints(caller.userId, headers['idempotency-key'], 'POST /users/add', fingerprints)

      return once(db, { claim, now: context.now }, async (trx) => {
        // Passwords are hashed one by one, so seconds may have passed since the request arrived.
        await lockAsAdmin(trx, context)
        const guest = role === 'guest' ? { expiresAt: body.expiresAt ?? null } : undefined
        const added = { email, isAdmin: role === 'admin', guest, passwordHash, autoJoin: config.chat.autoJoin }
        const user = await addUser(trx, added, context)
        if (invitations.isFor(user)) await invitations.send(trx, user, context)
        return { success: true as const, userId: user.id }
      })
    })

    app.post('/users/:id/invite', { schema: InviteAgain, config: access }, async ({ caller, ip, params }) => {
      await db.transaction().execute(async (trx) => {
        const context = { caller, ip, now: clock() }
        const people = await lockAsAdmin(trx, context, params.id)
        const user = people.get(params.id)
        if (!user) throw notFound('user')
        if (user.isBot) throw invalid('A bot cannot be invited')
        if (!invitations.isFor(user)) throw invalid('This person already has a password')
        if (!(await invitations.send(trx, user, context)))
          throw invalid('This server does not send invitations by e-mail')
      })
      return { success: true as const }
    })

    const withSession = { ...access, tokenScope: 'none' } as const
    app.post('/users/:id/reset-password', { schema: ResetPassword, config: withSession }, async (request) => {
      const { caller, ip, params, body } = request
      const owner = await findLiveUser(db, params.id)
      if (!owner) throw unknownUser()
      await refuseWeakPassword(body.password, owner)
      const passwordHash = await hash(body.password, caller)

      await db.transaction().execute(async (trx) => {
        const actor = { actorId: caller.userId, ip, now: clock() }
        const { now } = actor
        await lockAsAdmin(trx, { caller, now }, params.id)
        const user = await setPassword(trx, { userId: params.id, passwordHash, except: caller.sessionId, ...actor })
        if (!user) throw unknownUser()
        await mailNotice(trx, config, { user, notice: 'password changed', ip: null, userAgent: null, now })
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

    app.put('/users/:id/role', { schema: UpdateRole, config: access }, async ({ caller, ip, params, body }) => {
      const context = { caller, ip, now: clock() }
      const role = { role: roleOf(body.role), expiresAt: body.expiresAt ?? null }
      return { user: userView(await db.transaction().execute((trx) => setRole(trx, params.id, role, context))) }
    })

    app.put('/users/:id/active', { schema: SetActive, config: access }, async (request) => {
      const { caller, ip, params, body } = request
      if (params.id === caller.userId && !body.isActive) throw invalid('You cannot deactivate yourself')
      const actor = { actorId: caller.userId, ip, now: clock() }
      const change = body.isActive ? activateUser : deactivateUser
      const user = await db.transaction().execute(async (trx) => {
        await lockAsAdmin(trx, { caller, now: actor.now }, params.id)
        return change(trx, params.id, actor)
      })
      if (!body.isActive) logSessionEnd(request, { userId: user.id, reason: 'deactivated' })
      return { user: userView(user) }
    })

    app.delete('/users/:id', { schema: RemoveUser, config: access }, async (request) => {
      const { caller, ip, params } = request
      await db.transaction().execute((trx) => removeUser(trx, params.id, { caller, ip, now: clock() }))
      logSessionEnd(request, { userId: params.id, reason: 'removed' })
      return { success: true as const }
    })
  }

/** Before there were guests, clients sent `user` for members. */
const roleOf = (name: Static<typeof RoleName> = 'member'): Role => (name === 'user' ? 'member' : name)

const unknownUser = () => invalid('There is no such user')

type AddedUser = Pick<NewUser, 'email' | 'isAdmin' | 'guest' | 'passwordHash' | 'autoJoin'>

/** Adds a person for an admin. @throws ApiError 400 when somebody has the address. */
async function addUser(trx: Transaction, added: AddedUser, { caller, ip, now }: RequestContext): Promise<UserRow> {
  const user = await createUser(trx, { ...added, actorId: caller.userId, ip, now })
  if (!user) throw invalid('This e-mail address is already in use', 'duplicate')
  return user
}
