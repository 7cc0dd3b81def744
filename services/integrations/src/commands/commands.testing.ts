import { randomUUID } from 'node:crypto'
import type { Message } from '@parley/contract'
import type { Person } from '@parley/test'
import type { TestEnvironment } from '@parley/test/test-environment'
import { beforeAll, expect } from 'vitest'

/** The commands of one bot, which tests add and type. The bot is created before the tests. */
export function testCommands(environment: TestEnvironment) {
  const bot = { id: '', signingSecret: '' }
  beforeAll(async () => {
    const { ada } = environment.people
    bot.id = (await ada.post('/bots', { userName: 'deployer' })).body.bot.id
    bot.signingSecret = (await ada.put(`/bots/${bot.id}`, { signingSecret: 'rotate' })).body.signingSecret
  })

  return {
    bot,
    /** Adds a command with a name that no other has. The app at `url` handles it. */
    async adds(url: string, wish: object = {}) {
      const name = `do-${randomUUID().slice(0, 8)}`
      const body = { botId: bot.id, name, url, ...wish }
      const response = await environment.people.ada.post('/commands', body)
      expect({ status: response.status, error: response.body.error }).toEqual({ status: 200, error: undefined })
      return response.body.command as { id: string; name: string }
    },
    /** Types a command into a channel or a conversation. */
    types: (person: Person, text: string, channelId = environment.channel.secret.id) =>
      person.post(
        channelId.startsWith('dm:') ? `/conversations/${channelId}/commands` : `/channels/${channelId}/commands`,
        { text },
      ),
    /** The newest message of a channel. */
    last: async (channelId: string): Promise<Message> =>
      (await environment.people.ann.get(`/channels/${channelId}/messages?limit=1`)).body.messages[0],
  }
}
