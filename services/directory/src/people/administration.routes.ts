import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createPasswordHasher, lockAsAdmin, readEmail, removeUser, setPassword, setRole } from '@parley/accounts'
import { Id, invalid, limits, NewPassword, Ok, refusals, User } from '@parley/contract'
import { audit, isRowId } from '@parley/database'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { Type } from 'typebox'
import { addUser, createInvitations, lockInvited } from './invitation.ts'

const Role = Type.Enum(['user', 'admin'])
const UserParams = Type.Object({ id: Type.String() })

const AddUser = {
  summary: 'Add somebody by e-mail address',
  description:
    'With a password they have it from now on. Without one, in password mode with e-mail, they are sent a link to choose ' +
    'their own.',
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    role: Type.Optional(Role),
    password: Type.Optional(NewPassword),
  }),
  response: { 200: Type.Object({ ...Ok.properties, userId: Id }), ...refusals(400, 401, 403, 429, 503) },
}

const InviteAgain = {
  summary: 'Send somebody who has no password yet the link to choose one again',
  description: 'In password mode with e-mail. The earlier link works no more.',
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
  ({ db, config, clock, metrics }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const
    const derivations = metrics.counter(metric.passwordDerivations)
    const passwords = createPasswordHasher({ atOnce: 1, onOutcome: (outcome) => derivations.with({ outcome }).add() })
    const invite = createInvitations(config)

    app.post('/users/add', { schema: AddUser, config: access }, async ({ caller, ip, body }) => {
      const email = readEmail(body.email)
      const passwordHash = body.password === undefined ? null : await passwords.hash(body.password)

      const userId = await db.transaction().execute(async (trx) => {
        const act = { caller, ip, now: clock() }
        // Passwords are hashed one by one: seconds may have passed since the request came.
        await lockAsAdmin(trx, act)
        const user = await addUser(trx, { email, isAdmin: body.role === 'admin', passwordHash }, act)
        if (!passwordHash) await invite(trx, user, act)
        return user.id
      })

      return { success: true as const, userId }
    })

    app.post('/users/:id/invite', { schema: InviteAgain, config: access }, async ({ caller, ip, params }) => {
      await db.transaction().execute(async (trx) => {
        const user = await lockInvited(trx, params.id)
        if (!(await invite(trx, user, { caller, ip, now: clock() }))) throw invalid('This server sends no invitations')
      })
      return { success: true as const }
    })

    app.post('/users/:id/reset-password', { schema: ResetPassword, config: access }, async (request) => {
      const { caller, ip, params, body } = request
      if (!isRowId(params.id)) throw unknownUser()
      const passwordHash = await passwords.hash(body.password)

      await db.transaction().execute(async (trx) => {
        const change = { userId: params.id, passwordHash, except: caller.sessionId, now: clock() }
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

      return { success: true as const }
    })

    app.put('/users/:id/role', { schema: UpdateRole, config: access }, async ({ caller, ip, params, body }) => ({
      user: await db.transaction().execute((trx) => setRole(trx, params.id, body.role, { caller, ip })),
    }))

    app.delete('/users/:id', { schema: RemoveUser, config: access }, async ({ caller, ip, params }) => {
      await db.transaction().execute((trx) => removeUser(trx, params.id, { caller, ip, now: clock() }))
      return { success: true as const }
    })
  }

const unknownUser = () => invalid('There is no such user')
