import type { Channel, Conversation, Group, Message } from '@parley/contract'
import type { HttpResponse, Person } from '@parley/test'
import { type Chooser, createChooser } from '../src/chooser.ts'
import type { TestServer } from '../src/test-server.ts'

export type World = Awaited<ReturnType<typeof createWorld>>

/**
 * An admin and four other people, one of them a guest, with a public channel, a private channel and a group, and
 * everything that they create.
 */
export async function createWorld(server: TestServer, seed: number) {
  const ada = await server.admin()
  const [ann, bob, cat, dan] = (await Promise.all(
    ['ann', 'bob', 'cat', 'dan'].map((name) => server.newcomer(name)),
  )) as [Person, Person, Person, Person]
  await ada.put(`/users/${dan.id}/role`, { role: 'guest' })
  const open = await ann.creates({ name: server.unique('copied'), members: [dan.id] })
  const closed = await ann.creates({ name: server.unique('closed'), isPrivate: true, members: [bob.id, cat.id] })
  const pair: Conversation = (await ann.post('/conversations', { targetUserId: bob.id })).body.conversation
  const { group } = (await ada.post('/groups', { handle: server.unique('crew'), name: 'Crew', members: [bob.id] })).body
  return {
    server,
    group: group as Group,
    seed,
    chooser: createChooser(seed),
    ada,
    people: [ada, ann, bob, cat, dan],
    open,
    pair,
    channels: [open, closed] as Channel[],
    sent: [await ann.says('the first', open), await ann.says('the first', closed)] as Message[],
    replies: [] as Message[],
    direct: [] as Message[],
    webhooks: [] as { id: string; token: string }[],
  }
}

const usual = ['send', 'send', 'reply', 'reply', 'react', 'direct', 'read', 'changeChannel']

/** Runs random operations of a person, one after the other. `between` is called after each. */
export async function live(world: World, person: Person, steps: number, between: () => Promise<void>) {
  const chooser = world.chooser.fork()
  const acts = actsOf(world, person, chooser)
  const names = [...usual, ...usual, ...Object.keys(acts)]
  for (let step = 0; step < steps; step++) {
    await acts[chooser.any(names)]!()
    await between()
  }
}

function actsOf(world: World, person: Person, chooser: Chooser): Record<string, () => Promise<unknown>> {
  const { any, below: choose } = chooser
  const { server, people, group, sent, replies, direct, channels, webhooks, pair, ada } = world
  const content = () =>
    `${any(['hello', '@channel', `@${group.handle}`, ...people.map(({ userName }) => `@${userName}`)])} ${choose(1e6)}`
  const reaction = () => ({ reaction: any(['+1', '🎉', '__proto__']) })
  const preferences = () => ({ [any(['isMuted', 'isFavourite', 'notifiesOfAll'])]: choose(2) === 0 })
  const own = () => any([...sent, ...replies].filter(({ author }) => author.id === person.id))
  const anyMessage = () => any([...sent, ...replies, ...direct])
  const put = (list: Message[], message: Message | undefined) => message && list.push(message)

  return {
    async send() {
      put(sent, (await ask(person.post(`/channels/${any(channels).id}/messages`, { content: content() })))?.message)
    },
    async reply() {
      put(replies, (await ask(person.post(`/messages/${any(sent).id}/thread`, { content: content() })))?.reply)
    },
    async edit() {
      const message = own()
      if (message) await ask(person.put(`/messages/${message.id}`, { content: content() }))
    },
    async delete() {
      const message = own()
      if (message) await ask(person.delete(`/messages/${message.id}`))
    },
    react: () => ask(person.post(`/messages/${anyMessage().id}/reactions`, reaction())),
    unreact: () => ask(person.delete(`/messages/${anyMessage().id}/reactions`, reaction())),
    pin: () => ask(person.post(`/messages/${any(sent).id}/pin`)),
    unpin: () => ask(person.delete(`/messages/${any(sent).id}/pin`)),
    read: () => ask(person.put(`/channels/${any(channels).id}/read`, { seq: choose(40) })),
    async direct() {
      put(direct, (await ask(person.post(`/conversations/${pair.id}/messages`, { content: content() })))?.message)
    },
    async changeDirect() {
      const message = any(direct.filter(({ author }) => author.id === person.id))
      if (!message) return
      const path = `/conversations/${pair.id}/messages/${message.id}`
      await ask(choose(2) === 0 ? person.put(path, { content: content() }) : person.delete(path))
    },
    prefer: () => ask(person.put(`/channels/${any(channels).id}/preferences`, preferences())),
    preferDirect: () => ask(person.put(`/conversations/${pair.id}/preferences`, preferences())),
    readDirect: () => ask(person.put(`/conversations/${pair.id}/read`, { seq: choose(20) })),
    pairUp: () => ask(person.post('/conversations', { targetUserId: any(people).id })),
    async createChannel() {
      const members = people.filter(() => choose(2) === 0).map(({ id }) => id)
      const body = await ask(
        person.post('/channels', { name: server.unique('made'), isPrivate: choose(2) === 0, members }),
      )
      if (body) channels.push(body.channel)
    },
    changeChannel: () =>
      ask(
        ada.put(`/channels/${any(channels).id}`, {
          topic: content(),
          isPrivate: choose(2) === 0,
          members: people.filter(() => choose(2) === 0).map(({ id }) => id),
        }),
      ),
    async deleteChannel() {
      const later = channels.slice(2)
      if (later.length > 0) await ask(person.delete(`/channels/${any(later).id}`))
    },
    join: () => ask(person.post(`/channels/${any(channels).id}/join`)),
    leave: () => ask(person.post(`/channels/${any(channels).id}/leave`)),
    rename: () => ask(person.put('/users/me', { userName: server.unique(`${person.userName} the`) })),
    changeRole: () =>
      ask(ada.put(`/users/${any(people.slice(1)).id}/role`, { role: any(['member', 'admin', 'guest']) })),
    changeGroup: () => {
      const [add, remove] = [0, 1].map(() => people.filter(() => choose(3) === 0).map(({ id }) => id))
      return ask(ada.put(`/groups/${group.id}/members`, { add, remove }))
    },
    renameGroup: () => ask(ada.put(`/groups/${group.id}`, { name: content().slice(0, 40) })),
    setGroups: () => ask(ada.put(`/channels/${any(channels).id}`, { groups: choose(2) === 0 ? [group.id] : [] })),
    async comeAndGo() {
      const newcomer = await server.newcomer('passer')
      put(sent, (await ask(newcomer.post(`/channels/${world.open.id}/messages`, { content: content() })))?.message)
      await ask(ada.put(`/channels/${any(channels).id}`, { members: [newcomer.id, person.id] }))
      const leaving = choose(4)
      if (leaving === 0) await ask(ada.delete(`/users/${newcomer.id}`))
      else if (leaving === 1) await ask(newcomer.post('/users/exit'))
      else if (leaving === 2) await ask(ada.put(`/users/${newcomer.id}/active`, { isActive: false }))
    },
    show: () => ask(person.put('/presence/me', { status: any(['online', 'away', 'offline']) })),
    nameServer: () => ask(ada.put('/server/settings', { name: content().slice(0, 40) })),
    async createWebhook() {
      const body = await ask(ada.post('/webhooks', { name: 'bot', channelId: any(channels).id }))
      if (body) webhooks.push(body.webhook)
    },
    async deleteWebhook() {
      if (webhooks.length > 0) await ask(ada.delete(`/webhooks/${any(webhooks).id}`))
    },
    async postByWebhook() {
      const webhook = any(webhooks)
      if (!webhook) return
      const headers = { authorization: `Bearer ${webhook.token}` }
      await ask(ada.post(`/webhooks/${webhook.id}/messages`, { content: content() }, headers))
    },
  }
}

/** An operation may be refused with 4xx, because others have changed its target meanwhile. */
async function ask(response: Promise<HttpResponse>): Promise<HttpResponse['body'] | undefined> {
  const { status, body } = await response
  if (status >= 500) throw new Error(`${status} ${JSON.stringify(body)}`)
  return status === 200 ? body : undefined
}
