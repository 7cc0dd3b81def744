import type { Channel, Conversation, Message } from '@parley/contract'
import type { Person, Reply } from '@parley/test'
import { expect, test } from 'vitest'
import { createChooser } from '../src/chooser.ts'
import { compare, KeptCopy } from './kept-copy.ts'
import type { Stage } from './stage.ts'

const steps = 40

/** What @parley/client keeps of a server, while everything about it changes. */
export function copyJourneys(stage: Stage) {
  test.each([1, 2])(
    'a snapshot and the events after it equal a new snapshot, for all that a client shows (round %i)',
    async (round) => {
      const world = await createWorld(stage, round)
      const living = Promise.all(world.people.map((person) => live(world, person)))
      await Promise.all([living, unsettle(world, living)])

      for (const person of world.people) world.copies.push(await openCopy(world, person))
      const last = await world.ann.says('the end', world.open)
      for (const each of world.copies) {
        await each.settled(last)
        const { kept, fresh } = await compare(each)
        expect(kept, `${each.person.userName}, ${each.reconnections} reconnections`).toEqual(fresh)
      }
      for (const { close } of world.copies) close()
      expect(Math.max(...world.copies.map(({ reconnections }) => reconnections))).toBeGreaterThan(0)
    },
    120_000,
  )
}

type World = Awaited<ReturnType<typeof createWorld>>

async function createWorld(stage: Stage, round: number) {
  const ada = await stage.admin()
  const [ann, bob, cat, dan] = (await Promise.all(
    ['ann', 'bob', 'cat', 'dan'].map((name) => stage.newcomer(name)),
  )) as [Person, Person, Person, Person]
  const open = await ann.creates({ name: stage.unique('copied') })
  const closed = await ann.creates({ name: stage.unique('closed'), isPrivate: true, members: [bob.id, cat.id] })
  const pair: Conversation = (await ann.post('/conversations', { targetUserId: bob.id })).body.conversation
  const { below: choose, any } = createChooser(round)
  return {
    stage,
    choose,
    any,
    ann,
    ada,
    people: [ada, ann, bob, cat, dan],
    open,
    closed,
    pair,
    channels: [open, closed] as Channel[],
    sent: [await ann.says('the first', open), await ann.says('the first', closed)] as Message[],
    replies: [] as Message[],
    direct: [] as Message[],
    webhooks: [] as { id: string; token: string }[],
    copies: [] as KeptCopy[],
  }
}

/** One thing after the other, all people at the same time. */
async function live(world: World, person: Person) {
  const { any, choose } = world
  const acts = actsOf(world, person)
  const often = ['send', 'send', 'reply', 'reply', 'react', 'direct', 'read']
  const names = [...often, ...often, ...often, ...Object.keys(acts)]
  for (let step = 0; step < steps; step++) {
    await acts[any(names)]!()
    if (choose(20) === 0) world.copies.push(await openCopy(world, person))
  }
}

/** Connections are lost all the time, some of them with the cursor, and clients look at other things. */
async function unsettle(world: World, living: Promise<unknown>) {
  const { copies, any, choose, sent, ann } = world
  let isOver = false
  void living.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await ann.get('/health')
    const copy = any(copies)
    if (choose(4) === 0) copy?.cut({ lost: choose(4) === 0 })
    if (choose(8) === 0) await copy?.openThread(any(sent))
  }
}

async function openCopy({ choose, any, channels, pair, sent }: World, person: Person): Promise<KeptCopy> {
  const kept = new KeptCopy(person, choose(3) === 0 ? 5 : 200)
  await kept.copy.ready
  for (const { id } of channels.slice(0, 3)) {
    await kept.open(id)
    await kept.openPins(id)
  }
  await kept.open(pair.id)
  await kept.openThread(any(sent))
  return kept
}

function actsOf(world: World, person: Person): Record<string, () => Promise<unknown>> {
  const { any, choose, stage, people, sent, replies, direct, channels, webhooks, pair, ada } = world
  const content = () => `${any(['hello', '@channel', ...people.map(({ userName }) => `@${userName}`)])} ${choose(1e6)}`
  const reaction = () => ({ reaction: any(['+1', '🎉', '__proto__']) })
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
    readDirect: () => ask(person.put(`/conversations/${pair.id}/read`, { seq: choose(20) })),
    pairUp: () => ask(person.post('/conversations', { targetUserId: any(people).id })),
    async createChannel() {
      const members = people.filter(() => choose(2) === 0).map(({ id }) => id)
      const body = await ask(
        person.post('/channels', { name: stage.unique('made'), isPrivate: choose(2) === 0, members }),
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
    rename: () => ask(person.put('/users/me', { userName: stage.unique(`${person.userName} the`) })),
    changeRole: () => ask(ada.put(`/users/${any(people.slice(1)).id}/role`, { role: any(['user', 'admin']) })),
    async comeAndGo() {
      const guest = await stage.newcomer('guest')
      put(sent, (await ask(guest.post(`/channels/${world.open.id}/messages`, { content: content() })))?.message)
      await ask(ada.put(`/channels/${any(channels).id}`, { members: [guest.id, person.id] }))
      await ask(choose(2) === 0 ? ada.delete(`/users/${guest.id}`) : guest.post('/users/exit'))
    },
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

/** What others have changed meanwhile may be refused, but by a 4xx. */
async function ask(reply: Promise<Reply>): Promise<Reply['body'] | undefined> {
  const { status, body } = await reply
  if (status >= 500) throw new Error(`${status} ${JSON.stringify(body)}`)
  return status === 200 ? body : undefined
}
