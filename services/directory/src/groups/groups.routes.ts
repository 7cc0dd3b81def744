import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  forbidden,
  Group,
  HasMore,
  Id,
  IdempotencyHeaders,
  limits,
  NameText,
  notFound,
  Ok,
  PageLimit,
  refusals,
} from '@parley/contract'
import { claimOf, once, type Reader, type Transaction } from '@parley/database'
import {
  changeGroupMembers,
  createGroup,
  deleteGroup,
  findGroup,
  type GroupActor,
  listGroups,
  updateGroup,
} from '@parley/groups'
import type { Caller } from '@parley/identity'
import { type Deps, listAsJson, type PageRequest, sendJsonText } from '@parley/service'
import { sql } from 'kysely'
import { Type } from 'typebox'

const GroupParams = Type.Object({ groupId: Type.String() })
const Members = Type.Array(Id, { maxItems: limits.groupMembers })
const Handle = NameText(limits.userName, {
  description: 'The name that mentions use, such as `sales`. No person and no other group has it',
})
const Name = NameText(limits.groupName)

const ListGroups = {
  summary: 'List all groups, by handle',
  description: 'For everybody except guests.',
  response: { 200: Type.Object({ groups: Type.Array(Group) }), ...refusals(401, 403) },
}

const CreateGroup = {
  summary: 'Create a group',
  description: '`@handle` in a message mentions everybody in the group.',
  headers: IdempotencyHeaders,
  body: Type.Object({ handle: Handle, name: Name, members: Type.Optional(Members) }),
  response: { 200: Type.Object({ group: Group }), ...refusals(400, 401, 403, 409) },
}

const UpdateGroup = {
  summary: 'Change the handle or the name of a group',
  description:
    'Fields that are left out stay as they are. A group of a directory can only be changed in that directory (409).',
  params: GroupParams,
  body: Type.Object({ handle: Type.Optional(Handle), name: Type.Optional(Name) }),
  response: { 200: Type.Object({ group: Group }), ...refusals(400, 401, 403, 404, 409) },
}

const DeleteGroup = {
  summary: 'Delete a group',
  description: 'People who were members of a channel only through this group stop being members.',
  params: GroupParams,
  response: { 200: Ok, ...refusals(401, 403, 404, 409) },
}

const ListGroupMembers = {
  summary: 'List the people in a group, in the order in which they joined this server',
  description: 'For everybody except guests.',
  params: GroupParams,
  querystring: Type.Object({
    limit: PageLimit(),
    after: Type.Optional(Type.String({ description: 'Id of the last member of the previous page' })),
  }),
  response: {
    200: Type.Object({ members: Type.Array(Type.Object({ id: Id, userName: Type.String() })), hasMore: HasMore }),
    ...refusals(400, 401, 403, 404),
  },
}

const ChangeMembers = {
  summary: 'Add people to a group and remove people from it',
  description: 'People are members of the channels of a group as long as they are in the group.',
  params: GroupParams,
  body: Type.Object({ add: Type.Optional(Members), remove: Type.Optional(Members) }),
  response: { 200: Type.Object({ group: Group }), ...refusals(400, 401, 403, 404, 409) },
}

export const groupRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const

    app.get('/groups', { schema: ListGroups }, async ({ caller }) => {
      refuseGuests(caller)
      return { groups: await listGroups(db) }
    })

    app.get('/groups/:groupId/members', { schema: ListGroupMembers }, async ({ caller, params, query }, reply) => {
      refuseGuests(caller)
      if (!(await findGroup(db, params.groupId))) throw notFound('group')
      return sendJsonText(reply, await listMembersOfGroup(db, params.groupId, query))
    })

    app.post('/groups', { schema: CreateGroup, config: access }, async ({ caller, ip, headers, body }) => {
      const now = clock()
      const { handle, name, members = [] } = body
      const claim = claimOf(caller.userId, headers['idempotency-key'], 'POST /groups', handle, name, members)
      return once(db, { claim, now }, async (trx) => ({
        group: await createGroup(trx, body, actorOf(caller, ip, now)),
      }))
    })

    app.put('/groups/:groupId', { schema: UpdateGroup, config: access }, async ({ caller, ip, params, body }) => ({
      group: await asAdmin(caller, ip, (trx, actor) => updateGroup(trx, params.groupId, body, actor)),
    }))

    app.delete('/groups/:groupId', { schema: DeleteGroup, config: access }, async ({ caller, ip, params }) => {
      await asAdmin(caller, ip, (trx, actor) => deleteGroup(trx, params.groupId, actor))
      return { success: true as const }
    })

    const members = { schema: ChangeMembers, config: access }
    app.put('/groups/:groupId/members', members, async ({ caller, ip, params, body }) => ({
      group: await asAdmin(caller, ip, (trx, actor) => changeGroupMembers(trx, params.groupId, body, actor)),
    }))

    const asAdmin = <Result>(
      caller: Caller,
      ip: string,
      change: (trx: Transaction, actor: GroupActor) => Promise<Result>,
    ): Promise<Result> => db.transaction().execute((trx) => change(trx, actorOf(caller, ip, clock())))
  }

/** The functions of `libs/groups` lock the admin together with the members, and check again that they are an admin. */
const actorOf = (admin: Caller, ip: string, now: number): GroupActor => ({
  source: 'local',
  admin,
  actorId: admin.userId,
  ip,
  now,
})

function refuseGuests({ role }: Caller): void {
  if (role === 'guest') throw forbidden('Groups are not shown to guests')
}

/** The JSON text of `{members: {id, userName}[], hasMore}`, by id. Served by the primary key of group_members. */
const listMembersOfGroup = (db: Reader, groupId: string, page: PageRequest): Promise<string> =>
  listAsJson(db, page, {
    name: 'members',
    most: limits.pageSize,
    sortKeyOf: (id) => sql`select id as key from users where id = ${id}`,
    items: ({ after, limit }) => sql`
      select users.id, user_name as "userName" from (
        select user_id from group_members where group_id = ${groupId} and ${after('>', 'user_id')} order by user_id ${limit}
      ) found join users on users.id = found.user_id
      order by users.id`,
  })
