import { type Group, limits } from '@parley/contract'
import { team } from '../apps/call-app.ts'
import { type SlackCall, textOf } from './slack-call.ts'

const errorCodes = { 403: 'user_is_restricted', 404: 'no_such_subteam' }

/** `usergroups.list`: the groups, whose ids `<!subteam^id>` in a text mentions. Their people are in `usergroups.users.list`. */
export async function listUserGroups({ ask }: SlackCall) {
  const { groups }: { groups: Group[] } = await ask(
    { service: 'directory', method: 'GET', path: '/groups' },
    errorCodes,
  )
  return { usergroups: groups.map(asUserGroup) }
}

/** `usergroups.users.list`. As at Slack, it has no pages. */
export async function listUsersOfUserGroup({ ask, args }: SlackCall) {
  const path = `/groups/${encodeURIComponent(textOf(args, 'usergroup', 'no_such_subteam'))}/members`
  const users: string[] = []
  for (let hasMore = true; hasMore; ) {
    const after = users.at(-1)
    const query = new URLSearchParams({ limit: String(limits.pageSize), ...(after !== undefined && { after }) })
    const page: { members: { id: string }[]; hasMore: boolean } = await ask(
      { service: 'directory', method: 'GET', path: `${path}?${query}` },
      errorCodes,
    )
    users.push(...page.members.map(({ id }) => id))
    hasMore = page.hasMore
  }
  return { users }
}

const asUserGroup = ({ id, handle, name, memberCount, source, createdAt }: Group) => ({
  id,
  team_id: team.id,
  is_usergroup: true,
  is_subteam: true,
  is_external: false,
  /** A directory changes the group. */
  is_idp_group: source !== 'local',
  name,
  handle,
  description: '',
  date_create: Math.floor(createdAt / 1_000),
  date_delete: 0,
  user_count: memberCount,
})
