import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createUser, hashPassword, readEmail, removeUser, setRole } from '@parley/accounts'
import { Id, invalid, limits, Ok, refusals, User } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const Role = Type.Enum(['user', 'admin'])
const UserParams = Type.Object({ id: Type.String() })

const AddUser = {
  summary: 'Add somebody by e-mail address',
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    role: Type.Optional(Role),
    password: Type.Optional(Type.String({ minLength: 8, maxLength: 1_000 })),
  }),
  response: { 200: Type.Object({ ...Ok.properties, userId: Id }), ...refusals(400, 401, 403) },
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
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const config = { access: 'admin' } as const

    app.post('/users/add', { schema: AddUser, config }, async ({ caller, ip, body }) => {
      const email = readEmail(body.email)
      const isAdmin = body.role === 'admin'
      const passwordHash = body.password === undefined ? null : await hashPassword(body.password)

      const user = await db
        .transaction()
        .execute((trx) => createUser(trx, { email, isAdmin, passwordHash, actorId: caller.userId, ip, now: clock() }))

      if (!user) throw invalid('There is somebody with this e-mail address already', 'duplicate')
      return { success: true as const, userId: user.id }
    })

    app.put('/users/:id/role', { schema: UpdateRole, config }, async ({ caller, ip, params, body }) => ({
      user: await db.transaction().execute((trx) => setRole(trx, params.id, body.role, { caller, ip })),
    }))

    app.delete('/users/:id', { schema: RemoveUser, config }, async ({ caller, ip, params }) => {
      await db.transaction().execute((trx) => removeUser(trx, params.id, { caller, ip, now: clock() }))
      return { success: true as const }
    })
  }
