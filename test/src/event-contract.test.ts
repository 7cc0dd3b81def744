import { expect, test } from 'vitest'
import { requireContract } from './event-contract.ts'

const meta = { replyCount: 1, lastReplyAt: 1, lastReplyBy: { id: 'a', userName: 'ann' }, participants: ['a'] }
const deleted = (threadMeta: unknown, more = {}) => ({
  type: 'DELETE_THREAD_REPLY',
  payload: { id: 'r', threadId: 'm', channelId: 'c', parentRev: 2, threadMeta, ...more },
})

test.each([[deleted(null)], [deleted(meta)], [{ type: 'DELETE_CHANNEL', payload: { id: 'c', name: 'open' } }]])(
  'an event as in the contract passes',
  (event) => requireContract(event),
)

test.each([
  ['of an unknown type', { type: 'OTHER', payload: {} }, 'no event OTHER'],
  ['with a field too few', { type: 'DELETE_MESSAGE', payload: { id: 'm' } }, 'channelId'],
  ['with a field too many', deleted(null, { secret: 1 }), '/secret'],
  ['with a field of another type', deleted(null, { parentRev: '2' }), '/parentRev'],
  [
    'with a field too many inside',
    deleted({ ...meta, lastReplyBy: { id: 'a', userName: 'ann', email: 'x' } }),
    '/threadMeta/lastReplyBy/email',
  ],
])('one %s does not', (_what, event, fault) => expect(() => requireContract(event)).toThrow(fault))
