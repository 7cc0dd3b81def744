import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { slackClient, wordOf } from './slack-client.testing.ts'

const environment = testEnvironment()

test('groups are listed with their people, and can be mentioned by their ids', async () => {
  const { ada, ann, bob, cat } = environment.people
  const slack = slackClient(environment, ann.token)
  const { group } = (await ada.post('/groups', { handle: 'on-call', name: 'On call', members: [bob.id, cat.id] })).body
  const listed = await slack.usergroups.list()
  expect(listed.usergroups).toMatchObject([
    { id: group.id, handle: 'on-call', name: 'On call', user_count: 2, is_idp_group: false, date_delete: 0 },
  ])
  const users = async () => (await slack.usergroups.users.list({ usergroup: group.id })).users!
  expect((await users()).toSorted()).toEqual([bob.id, cat.id].toSorted())
  const { message } = await slack.chat.postMessage({ channel: '#open', text: `<!subteam^${group.id}> help` })
  await environment.events.to(bob).toHave('NEW_MESSAGE', { mentions: [`group:${group.id}`] })
  const mention = `<!subteam^${group.id}|@on-call>`
  expect(message?.text).toBe(`${mention} help`)
  const elements = [
    { type: 'usergroup', usergroup_id: group.id },
    { type: 'text', text: ' here' },
  ]
  const blocks = [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }]
  const rich = await slack.chat.postMessage({ channel: '#open', blocks } as never)
  expect(rich.message?.text).toBe(`${mention} here`)

  await sql`
    with people as (
      insert into users (id, user_name, user_name_key, user_name_skeleton, email, auto_joined, created_at)
      select gen_random_uuid(), name, name, name, name || '@example.org', true, 1
      from (select 'on call ' || n as name from generate_series(1, 450) n) names
      returning id)
    insert into group_members (group_id, user_id, added_at) select ${group.id}, id, 1 from people`.execute(
    environment.deps.db,
  )
  expect(new Set(await users()).size).toBe(452)
  for (const usergroup of ['S0NOBODY', crypto.randomUUID(), '../channels'])
    expect(await wordOf(slack.usergroups.users.list({ usergroup }))).toBe('no_such_subteam')
  expect(await wordOf(slack.apiCall('usergroups.users.list', {}))).toBe('no_such_subteam')
})
