import type { WireEvent } from '@parley/contract'
import { expect, test } from 'vitest'
import { createChanges } from '../store/changes.ts'
import { emptyRecords, type StoredState } from '../store/store.ts'
import { createLists } from './lists.ts'

const webhook = { id: 'w1', name: 'build', channelId: 'c1', lastPostedAt: null } as StoredState['webhooks'][number]

test('listeners are told about webhooks that another tab has stored', async () => {
  const changes = createChanges()
  const lists = createLists({ scope: 'all', changes, onRenamed() {} })
  const shown: string[][] = []
  changes.subscribe('webhooks', () => shown.push(lists.webhooks().map(({ name }) => name)))
  const state = { me: lists.me(), role: 'admin', scope: 'all', cursor: '1', settings: { name: '' } } as const
  lists.restore({ state: { ...state, webhooks: [webhook] }, records: emptyRecords() })
  // Listeners are called at the end of this turn of the event loop.
  await Promise.resolve()
  expect(shown).toEqual([['build']])
})

test('places that an older build has stored have all preferences', () => {
  const lists = createLists({ scope: 'all', changes: createChanges(), onRenamed() {} })
  const place = { id: 'c1', name: 'deck', isMuted: true, isFavourite: false, isMember: true, memberCount: 1 }
  const read = {
    state: { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 },
    listedSeq: 0,
    counted: { unreadCount: 0, mentionCount: 0 },
    unread: [],
  }
  const state = { me: lists.me(), role: 'admin', scope: 'all', cursor: '1', settings: { name: '' } } as const
  const records = { ...emptyRecords(), channels: new Map<string, unknown>([['c1', { place, read }]]) }
  lists.restore({ state: { ...state, webhooks: [] }, records })
  expect(lists.channel('c1')).toMatchObject({ isMuted: true, notifiesOfAll: false })
})

test('channels are sorted by name, with numbers in their natural order', () => {
  const lists = createLists({ scope: 'all', changes: createChanges(), onRenamed() {} })
  const names = ['deck 2', 'Deck 10', 'deck 1', 'deck', 'anchor', 'Ärger']
  for (const name of names) lists.apply({ type: 'NEW_CHANNEL', payload: { id: name, name, lastSeq: 0 } } as WireEvent)
  expect(lists.channels().map(({ name }) => name)).toEqual(['anchor', 'Ärger', 'deck', 'deck 1', 'deck 2', 'Deck 10'])
})
