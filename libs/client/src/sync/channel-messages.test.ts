import type { Message, WireEvent } from '@parley/contract'
import { expect, test } from 'vitest'
import { createChannelMessages } from './channel-messages.ts'

test('a reaction keeps its place when somebody adds it or removes it', () => {
  const channel = createChannelMessages('c1')
  const reactions = { '👍': ['ann'], '🎉': ['ann', 'bob'], '⚓': ['bob'] }
  channel.restore({
    from: 1,
    messages: [{ id: 'm1', seq: 1, rev: 3, pinnedAt: null, reactions } as unknown as Message],
  })
  const apply = (type: string, reaction: string, rev: number) =>
    channel.apply({ type, payload: { messageId: 'm1', channelId: 'c1', reaction, userId: 'cy', rev } } as WireEvent)
  const shown = () => Object.entries(channel.get('m1')!.reactions).map(([name, { length }]) => `${name} ${length}`)
  apply('NEW_REACTION', '👍', 4)
  expect(shown()).toEqual(['👍 2', '🎉 2', '⚓ 1'])
  apply('DELETE_REACTION', '👍', 5)
  apply('NEW_REACTION', '__proto__', 6)
  expect(shown()).toEqual(['👍 1', '🎉 2', '⚓ 1', '__proto__ 1'])
  apply('DELETE_REACTION', '__proto__', 7)
  expect(shown()).toEqual(['👍 1', '🎉 2', '⚓ 1'])
})
