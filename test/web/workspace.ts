import { Person } from '../src/person.ts'
import { png } from './pictures.ts'
import { alertmanager, github, grafana } from './reports.ts'

export interface Workspace {
  channelId: string
  threadId: string
  conversationId: string
  emptyId: string
  /** The channel with posts of programs. */
  alertsId: string
  /** The channel with images, files and link previews. */
  filesId: string
}

const names = [
  'Ada Lindqvist',
  'Bruno Marchetti',
  'Chinwe Okafor',
  'Dora Novak',
  'Emil Haas',
  'Farah Siddiqui',
  'Goro Tanaka',
]
const channels: [name: string, topic: string, isPrivate?: boolean][] = [
  ['release', 'What goes out, and when. Next: 4.2 on Thursday'],
  ['design', 'Sketches early, opinions kindly'],
  ['support', 'Questions of customers, answered within the day'],
  ['infrastructure', 'Deployments, alerts, the on-call rota'],
  ['hiring', 'Interviews and offers', true],
  ['a-very-long-name-that-no-sidebar-has-room-for-at-all', 'Names may be long: up to a hundred characters'],
  ['alerts', 'What programs say'],
  ['lunch', 'Today: the Vietnamese place at half past twelve'],
  ['random', 'Anything else'],
]

/**
 * Fills a server with people and messages through the API. The screenshots show it as the admin sees it. `site` is a page that the server
 * may fetch for a link preview.
 */
export async function fillWorkspace(baseUrl: string, site: string): Promise<Workspace> {
  const admin = await Person.signIn(baseUrl, 'admin@example.com')
  await admin.put('/users/me', { userName: 'Nora Berg' })
  await admin.put('/server/settings', { name: 'Northwind' })
  const people: Person[] = []
  for (const name of names) {
    const person = await Person.signIn(baseUrl, `${name.split(' ')[0]!.toLowerCase()}@example.com`)
    await person.put('/users/me', { userName: name })
    people.push(person)
  }
  const [ada, bruno, chinwe, dora, emil, farah, goro] = people as [
    Person,
    Person,
    Person,
    Person,
    Person,
    Person,
    Person,
  ]
  const ids: Record<string, { id: string }> = {}
  for (const [name, topic, isPrivate = false] of channels) {
    const { body } = await admin.post('/channels', {
      name,
      topic,
      isPrivate,
      members: isPrivate ? people.map(({ id }) => id) : undefined,
    })
    ids[name] = body.channel
    for (const person of people) await person.post(`/channels/${body.channel.id}/join`)
  }
  const release = ids.release!
  await ada.says('Morning! The branch for **4.2** is cut. Three things are still open:', release)
  await ada.says(
    '1. the migration of old exports\n2. the new empty states — @Dora Novak has the drawings\n3. release notes',
    release,
  )
  const question = await bruno.says(
    'The migration runs in 40 s on a copy of production, and can be repeated. I would ship it with the flag *off* and turn it on after the weekend.',
    release,
  )
  await chinwe.says(
    '> turn it on after the weekend\nYes please. I am on call on Saturday and would like to sleep 😴',
    release,
  )
  await dora.says(
    'Empty states are merged. They look like this in both themes, and they read well in German too.',
    release,
  )
  await emil.says(
    'One thing I found while testing: the retry waits longer than it should.\n```ts\nconst waitMs = Math.min(maxMs, firstMs * 2 ** tries)\n// jitter goes here, not into the exponent\n```',
    release,
  )
  const fix = await emil.says('Fix is in review: https://example.com/northwind/app/pull/1482', release)
  const wish = await farah.says(
    'Support has two customers waiting for exactly that. Can `4.2` still take it, @Nora Berg?',
    release,
  )
  const yes = await admin.says('It can. Emil, please merge today; Goro tests it tonight.', release)
  await goro.says('On it. I will write what I see in the thread.', release)

  for (const [person, text] of [
    [goro, 'First round: no surprises. Two flaky tests, both known.'],
    [bruno, 'The flag works both ways, I tried it on staging.'],
    [admin, 'Lovely. Then Thursday stands.'],
  ] as const) {
    await person.post(`/messages/${question.id}/thread`, { content: text })
  }
  await emil.post(`/messages/${yes.id}/thread`, { content: 'Merged, and the branch is deployed to staging.' })
  await goro.post(`/messages/${yes.id}/thread`, {
    content: 'Both rounds are green. The export of the *largest* customer took 41 s, as Bruno said.',
  })
  for (const [person, message, reaction] of [
    [ada, yes, '🎉'],
    [bruno, yes, '🎉'],
    [farah, yes, '🎉'],
    [admin, question, '👍'],
    [dora, question, '👍'],
    [chinwe, yes, '🙏'],
  ] as const) {
    await person.post(`/messages/${message.id}/reactions`, { reaction })
  }
  await admin.post(`/messages/${question.id}/pin`)
  await sayWithFiles([dora, bruno, admin], ids.design!, site)
  const { webhook } = (await admin.post('/webhooks', { name: 'Alertmanager', channelId: ids.alerts!.id })).body
  for (const payload of [alertmanager, grafana, github]) {
    await Person.nobody(baseUrl).post(new URL(webhook.url).pathname, payload)
  }
  const members = [admin.id, bruno.id, goro.id]
  await admin.post('/groups', { handle: 'release-crew', name: 'Release crew', members })
  await ada.says('@release-crew the branch is frozen at noon, @channel please wait with merges.', release)
  const quiet = await chinwe.says(
    'All quiet. The disk of `db-3` was replaced without anybody noticing.',
    ids.infrastructure!,
  )
  await farah.says('@Nora Berg a customer asks whether exports have the old threads. I said yes.', ids.support!)
  const sketches = await dora.says('Which of the two sketches shall we show on Thursday?', ids.design!)
  const { reply } = (
    await dora.post(`/messages/${sketches.id}/thread`, { content: '@Nora Berg you have the last word.' })
  ).body
  for (const { id } of [question, quiet, reply, fix, wish]) await admin.put(`/messages/${id}/saved`, { isSaved: true })
  await dora.says('New icons for the release page are up for comments.', ids.design!)
  await goro.says('Noodles?', ids.lunch!)
  for (const name of ['release', 'support'])
    await admin.put(`/channels/${ids[name]!.id}/preferences`, { isFavourite: true })
  for (const name of ['alerts', 'lunch', 'support'])
    await admin.put(`/channels/${ids[name]!.id}/preferences`, { isMuted: true })

  const { conversation } = (await admin.post('/conversations', { targetUserId: ada.id })).body
  const direct = (person: Person, content: string) =>
    person.post(`/conversations/${conversation.id}/messages`, { content })
  await direct(ada, 'Do you have ten minutes before the stand-up?')
  await direct(admin, 'Sure. I bring coffee ☕')
  await direct(ada, 'You are the best.')
  for (const [person, content] of [
    [chinwe, 'Saturday is mine, then. Sleep well.'],
    [dora, 'The drawings are in the usual place.'],
    [emil, 'Merged. Thank you for the quick review!'],
  ] as const) {
    const { body } = await person.post('/conversations', { targetUserId: admin.id })
    await person.post(`/conversations/${body.conversation.id}/messages`, { content })
    if (person !== emil) await admin.put(`/conversations/${body.conversation.id}/read`, { seq: 1 })
  }
  for (const [person, status] of [
    [ada, 'online'],
    [dora, 'away'],
    [emil, 'online'],
  ] as const) {
    await person.put('/presence/me', { status })
  }
  await ada.put('/users/me/status', { text: 'On holiday', emoji: '🌴' })
  await emil.put('/users/me/status', { text: 'In a meeting', emoji: '📅' })
  await connectPrograms(admin, people, release)
  return {
    channelId: release.id,
    threadId: question.id,
    conversationId: conversation.id,
    emptyId: ids.random!.id,
    alertsId: ids.alerts!.id,
    filesId: ids.design!.id,
  }
}

async function sayWithFiles([dora, bruno, admin]: [Person, Person, Person], channel: { id: string }, site: string) {
  const place = `/channels/${channel.id}/messages`
  const images = [
    await dora.uploadsImage(place, 'release-page.png', png(960, 540, [54, 81, 201])),
    await dora.uploadsImage(place, 'icon.png', png(300, 300, [28, 122, 67])),
  ]
  await dora.sends(channel, { content: 'The release page, and the icon that goes with it:', images })
  const attachments = [
    await bruno.uploads('measurements-of-all-icons-in-both-themes-and-three-sizes-2026.csv', 'name,size'),
    await bruno.uploads('notes.pdf', '%PDF-1.7'),
  ]
  await bruno.sends(channel, { content: 'Measured, with notes.', attachments })
  await admin.says(`Our guide says how icons are drawn: ${site}/guide`, channel)
  await bruno.says('- lines of 1.75\n- round ends\n  - never filled\n\n~24~ **20** pixels, see #release', channel)
}

/** Adds groups, guests, bots and subscriptions, for the administration pages. */
async function connectPrograms(admin: Person, people: readonly Person[], channel: { id: string }) {
  const members = people.map(({ id }) => id)
  const { group } = (await admin.post('/groups', { handle: 'on-call', name: 'Who has the pager', members })).body
  await admin.post('/groups', { handle: 'sales', name: 'Sales and support', members: members.slice(0, 3) })
  await admin.put(`/channels/${channel.id}`, { groups: [group.id] })
  await admin.post('/users/add', { email: 'guest@supplier.example', role: 'guest' })
  const { bot } = (await admin.post('/bots', { userName: 'deploy', displayName: 'Deployments' })).body
  await admin.post(`/bots/${bot.id}/tokens`, { name: 'pipeline', scopes: ['write'] })
  await admin.post('/auth/tokens', {
    name: 'nightly report',
    scopes: ['read'],
    expiresAt: Date.now() + 90 * 86_400_000,
  })
  await admin.post('/admin/scim-clients', { name: 'Entra ID' })
  await admin.post('/webhooks', { name: 'builds', channelId: channel.id })
  const events = ['NEW_MESSAGE', 'NEW_REACTION']
  await admin.post('/subscriptions', { botId: bot.id, url: 'https://bots.example.com/parley', events })
}
